"""`tidelog schema delete`: soft deletes, which can be undone by registering again, and permanent ones."""

import sys
from typing import TYPE_CHECKING

import click

from tidelog.cli.exits import CliError
from tidelog.cli.output import print_json
from tidelog.cli.schema.connection import registry, registry_options
from tidelog.cli.schema.names import subject_argument
from tidelog.cli.session import Session, pass_session

if TYPE_CHECKING:
    from tidelog.blocking.registry.client import RegistryClient

SOFT_DELETED_ALREADY = (40404, 40406)


@click.command()
@subject_argument
@click.option("--version", metavar="N", help="Delete this version alone; `latest` is the newest.")
@click.option(
    "--permanent",
    is_flag=True,
    help="Delete for good: records that were written with the schema cannot be read any more.",
)
@click.option(
    "-y", "--yes", is_flag=True, help="Skip the confirmation. Without a terminal it is skipped anyway."
)
@registry_options
@pass_session
def delete(
    session: Session, subject: str, version: str | None, permanent: bool, yes: bool, registry_url: str | None
) -> None:
    """Delete a subject, or one version of it.

    A deleted schema can still be looked up by its id, so that records stay readable, unless --permanent is
    given. A version that other schemas refer to is refused.

    \b
    tidelog schema delete orders-value --version 3
    tidelog schema delete orders-value --permanent
    """
    with registry(session, registry_url) as client:
        what = f"version {version} of '{subject}'" if version else f"'{subject}' with all its versions"
        how = " for good, so that its records cannot be read any more" if permanent else ""
        question = f"Delete {what} at {client.options.urls[0]}{how}?"
        if not yes and sys.stdin.isatty() and not click.confirm(question, err=True):
            raise CliError("Nothing was deleted.")
        versions = deleted_versions(client, subject, version, permanent=permanent)
    if session.json:
        print_json({"subject": subject, "versions": versions, "permanent": permanent})
    else:
        shown = ", ".join(map(str, versions))
        print(f"Deleted '{subject}', version {shown}{' for good' if permanent else ''}.")


def deleted_versions(
    client: "RegistryClient", subject: str, version: str | None, *, permanent: bool
) -> list[int]:
    """Deletes them. For good takes two steps in every registry: the first hides, the second removes."""
    from tidelog.blocking.registry.errors import RegistryRefused

    if version == "latest":
        version = str(client.version(subject).version)

    def once(permanent: bool) -> list[int]:
        if version is None:
            return client.delete_subject(subject, permanent=permanent)
        return [client.delete_version(subject, version, permanent=permanent)]

    try:
        found = once(False)
    except RegistryRefused as refusal:
        if not (permanent and refusal.code in SOFT_DELETED_ALREADY):
            raise
        found = []
    return once(True) if permanent else found
