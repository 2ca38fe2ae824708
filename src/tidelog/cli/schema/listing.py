"""`tidelog schema list`: the subjects of a registry, or the versions of one."""

from typing import TYPE_CHECKING, Any

import click

from tidelog.cli.output import print_json, print_table
from tidelog.cli.schema.connection import registry, registry_options
from tidelog.cli.schema.names import complete_subject
from tidelog.cli.session import Session, pass_session

if TYPE_CHECKING:
    from tidelog.blocking.registry.answers import Version
    from tidelog.blocking.registry.client import RegistryClient


@click.command("list")
@click.argument("subject", required=False, shell_complete=complete_subject)
@click.option("--prefix", metavar="TEXT", help="Only subjects that start so; `:*:` lists every context.")
@click.option("--deleted", is_flag=True, help="Show soft-deleted ones too.")
@registry_options
@pass_session
def list_(
    session: Session, subject: str | None, prefix: str | None, deleted: bool, registry_url: str | None
) -> None:
    """List subjects with their latest versions, or the versions of a subject.

    \b
    tidelog schema list
    tidelog schema list orders-value
    """
    with registry(session, registry_url) as client:
        if subject is not None:
            _list_versions(session, client, subject, deleted)
        else:
            _list_subjects(session, client, prefix, deleted)


def _list_subjects(session: Session, client: "RegistryClient", prefix: str | None, deleted: bool) -> None:
    by_subject: dict[str, list[Version]] = {}
    for one in client.all_versions(prefix=prefix, deleted=deleted):
        by_subject.setdefault(one.subject, []).append(one)
    living = set(client.subjects(prefix=prefix)) if deleted else by_subject.keys()
    rows = []
    for subject, versions in sorted(by_subject.items()):
        latest = max(versions, key=lambda one: one.version)
        rows.append(
            {
                "subject": subject,
                "type": latest.schema.type.value,
                "versions": len(versions),
                "latest": latest.version,
                "id": latest.id,
                "is_deleted": subject not in living,
            }
        )
    if session.json:
        print_json(rows)
    elif rows:
        print_table(
            ("SUBJECT", "TYPE", ">VERSIONS", ">LATEST", ">ID", *(("DELETED",) if deleted else ())),
            [[value for name, value in row.items() if deleted or name != "is_deleted"] for row in rows],
        )
    else:
        print(f"No subjects at {client.options.urls[0]}.")


def _list_versions(session: Session, client: "RegistryClient", subject: str, deleted: bool) -> None:
    numbers = client.versions(subject, deleted=deleted)
    living = set(client.versions(subject)) if deleted else set(numbers)
    config = client.config(subject, default_to_global=True) or {}
    level = str(config.get("compatibilityLevel") or "BACKWARD")
    found = [client.version(subject, number, deleted=deleted) for number in numbers]
    if session.json:
        print_json(
            {
                "subject": subject,
                "compatibility": level,
                "mode": client.mode(subject, default_to_global=True),
                "versions": [_version_json(one) | {"is_deleted": one.version not in living} for one in found],
            }
        )
        return
    print_table(
        (">VERSION", ">ID", "TYPE", "REFERENCES", *(("DELETED",) if deleted else ())),
        [
            (
                one.version,
                one.id,
                one.schema.type.value,
                [f"{reference.subject}:{reference.version}" for reference in one.schema.references] or None,
                *((one.version not in living,) if deleted else ()),
            )
            for one in found
        ],
    )
    print(f"Compatibility: {level}")


def _version_json(one: "Version") -> dict[str, Any]:
    return {
        "version": one.version,
        "id": one.id,
        "type": one.schema.type.value,
        "references": [reference._asdict() for reference in one.schema.references],
    }
