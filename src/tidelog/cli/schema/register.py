"""`tidelog schema register`: a schema as the next version of a subject, behind those that it refers to."""

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import print_json
from tidelog.cli.schema.connection import registry, registry_options
from tidelog.cli.schema.files import (
    SchemaFile,
    WantedReference,
    expanded,
    read_schema_file,
    reference_of,
    type_option,
)
from tidelog.cli.schema.imports import needed_files
from tidelog.cli.schema.messages import read_messages
from tidelog.cli.schema.names import subject_argument
from tidelog.cli.session import Command, Session, pass_session
from tidelog.registry.schema import Reference, Schema
from tidelog.registry.subjects import qualified

if TYPE_CHECKING:
    from tidelog.blocking.registry.client import RegistryClient


class Registered(NamedTuple):
    subject: str
    version: int
    id: int
    schema: Schema
    is_new: bool


def reference_options(command: Command) -> Command:
    with_files = click.option(
        "--with",
        "others",
        multiple=True,
        type=click.Path(exists=True),
        metavar="FILE",
        help="A file, or a directory of files, that the schema may refer to. `register` registers those that "
        "it does before it, with the reference's name as their subject. Repeatable.",
    )
    references = click.option(
        "--reference",
        "references",
        multiple=True,
        metavar="NAME=SUBJECT:VERSION",
        help="A registered schema that this one refers to by NAME; without a version the latest. Repeatable.",
    )
    return references(with_files(command))


@click.command()
@subject_argument
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@type_option
@reference_options
@click.option("--normalize", is_flag=True, help="Let texts that differ in no meaning be one schema.")
@registry_options
@pass_session
def register(
    session: Session,
    subject: str,
    file: str,
    kind: str | None,
    references: tuple[str, ...],
    others: tuple[str, ...],
    normalize: bool,
    registry_url: str | None,
) -> None:
    """Register a schema as the next version of a subject.

    A schema that the subject has already keeps its version and id.

    \b
    tidelog schema register orders-value order.avsc
    tidelog schema register orders-value order.proto --with protos/
    tidelog schema register orders-value order.avsc --reference com.acme.Money=money:2
    """
    main = read_schema_file(file, kind)
    wanted = [reference_of(text) for text in references]
    with registry(session, registry_url) as client:
        made = register_with(client, subject, main, wanted, read_others(others, main), normalize=normalize)
    if session.json:
        print_json([as_json(one) for one in made])
        return
    for one in made:
        said = "registered as" if one.is_new else "is already"
        print(f"{one.schema.type.value} schema {said} version {one.version} of '{one.subject}', id {one.id}.")


def as_json(one: Registered) -> dict[str, Any]:
    return {
        "subject": one.subject,
        "version": one.version,
        "id": one.id,
        "type": one.schema.type.value,
        "references": [reference._asdict() for reference in one.schema.references],
        "is_new": one.is_new,
    }


def read_others(paths: tuple[str, ...], main: SchemaFile) -> list[SchemaFile]:
    """Files of the same kind as the schema that may refer to them."""
    read = (read_schema_file(path) for path in expanded(paths))
    return [file for file in read if file.type is main.type]


def register_with(
    client: "RegistryClient",
    subject: str,
    main: SchemaFile,
    wanted: list[WantedReference],
    others: list[SchemaFile],
    *,
    normalize: bool = False,
) -> list[Registered]:
    """Registers what the schema refers to, then itself."""
    by_name = resolved(client, subject, wanted)
    needed, own = needed_files(main, others, by_name)
    made = []
    for one in needed:
        references = tuple(by_name[name] for name in one.needs)
        schema = Schema(one.file.type, one.file.text, references)
        made.append(_registered(client, qualified(one.name, subject), schema, normalize))
        by_name[one.name] = Reference(one.name, one.name, made[-1].version)
    given = [reference.name for reference in wanted]
    schema = Schema(main.type, main.text, tuple(by_name[name] for name in [*given, *own]))
    return [*made, _registered(client, subject, schema, normalize)]


def resolved(client: "RegistryClient", subject: str, wanted: list[WantedReference]) -> dict[str, Reference]:
    """References of a schema of the subject, with the latest version where none is named."""

    def latest(other: str) -> int:
        return client.version(qualified(other, subject)).version

    return {
        name: Reference(name, other, latest(other) if version is None else version)
        for name, other, version in wanted
    }


def _registered(client: "RegistryClient", subject: str, schema: Schema, normalize: bool) -> Registered:
    if (known := client.lookup(subject, schema, normalize=normalize)) is not None:
        return Registered(subject, known.version, known.id, schema, is_new=False)
    from tidelog.blocking.registry.errors import RegistryRefused

    try:
        client.register(subject, schema, normalize=normalize)
    except RegistryRefused as refusal:
        if refusal.is_incompatible:
            raise _incompatible(client, subject, schema) from refusal
        raise
    found = client.lookup(subject, schema, normalize=normalize)
    if found is None:
        raise CliError(
            f"'{subject}' has no such schema though it was registered a moment ago.",
            cause="it was deleted meanwhile.",
            attempt="the same command again",
            code=Exit.FAILED,
        )
    return Registered(subject, found.version, found.id, schema, is_new=True)


def _incompatible(client: "RegistryClient", subject: str, schema: Schema) -> CliError:
    faults, version = read_messages(client.check(subject, schema, None).messages)
    said = "; ".join(fault.text for fault in faults) or "the registry does not say why"
    config = client.config(subject, default_to_global=True) or {}
    earlier = "an earlier version" if version is None else f"version {version}"
    return CliError(
        f"The schema is not compatible with {earlier} of '{subject}': {said}.",
        cause=f"the subject's compatibility is {config.get('compatibilityLevel', 'BACKWARD')}.",
        attempt=f"tidelog schema diff {subject} {version or 'latest'} FILE",
        code=Exit.FAILED,
    )
