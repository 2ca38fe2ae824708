"""`tidelog schema diff`: what changed between two schemas, field by field, as people read it."""

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import coloured, print_json
from tidelog.cli.schema.connection import registry, registry_options
from tidelog.cli.schema.files import read_schema_file, type_option
from tidelog.cli.schema.get import readable
from tidelog.cli.schema.names import complete_subject
from tidelog.cli.schema.outlines.outline import Attributes, Change, Outline, differences
from tidelog.cli.session import Session, pass_session
from tidelog.registry.parsed import SchemaError
from tidelog.registry.schema import Dependencies, Schema, SchemaType

if TYPE_CHECKING:
    from tidelog.blocking.registry.client import RegistryClient

SIGNS = {"added": "+", "removed": "-", "changed": "~", "renamed": "~"}
COLOURS = {"added": "green", "removed": "red", "changed": "yellow", "renamed": "yellow"}


class Side(NamedTuple):
    name: str
    schema: Schema
    dependencies: Dependencies = ()


@click.command()
@click.argument(
    "what", nargs=-1, required=True, metavar="SUBJECT [OLD] [NEW]", shell_complete=complete_subject
)
@type_option
@click.option("--text", is_flag=True, help="Compare the texts line by line instead of the fields.")
@registry_options
@pass_session
def diff(
    session: Session, what: tuple[str, ...], kind: str | None, text: bool, registry_url: str | None
) -> None:
    """Show what changed between two versions of a subject, or between files.

    OLD and NEW are versions or files; without them the latest version is compared with the one before.
    Lines begin with + for a new field, - for a removed one, and ~ for one that changed.

    \b
    tidelog schema diff orders-value              # the latest with the one before
    tidelog schema diff orders-value 2 5
    tidelog schema diff orders-value latest order.avsc
    tidelog schema diff old.proto new.proto
    """
    if len(what) == 2 and all(Path(name).is_file() for name in what):
        old, new = (_file_side(name, kind) for name in what)
    else:
        with registry(session, registry_url) as client:
            old, new = _sides(client, what, kind)
    if text:
        _print_text(session, old, new)
        return
    changes = compared(old, new)
    if session.json:
        print_json({"old": old.name, "new": new.name, "changes": [_as_json(change) for change in changes]})
        return
    print(f"{old.name} -> {new.name}: {_counted(changes)}")
    for change in changes:
        line = change_text(change)
        print(click.style(line, fg=COLOURS[change.kind]) if coloured() else line)


def _sides(client: "RegistryClient", what: tuple[str, ...], kind: str | None) -> tuple[Side, Side]:
    if len(what) > 3:
        raise click.UsageError("Give a subject with up to two versions or files, or two files.")
    subject, *chosen = what
    if not chosen:
        versions = client.versions(subject)
        if len(versions) < 2:
            raise CliError(
                f"'{subject}' has one version, so there is nothing to compare.",
                attempt=f"tidelog schema get {subject}",
                code=Exit.NOT_FOUND,
            )
        chosen = [str(number) for number in versions[-2:]]
    if len(chosen) == 1:
        chosen.append("latest")

    def side(name: str) -> Side:
        if Path(name).is_file():
            return _file_side(name, kind)
        found = client.version(subject, name)
        return Side(
            f"{found.subject} version {found.version}",
            found.schema,
            client.dependencies(found.schema, found.subject),
        )

    return side(chosen[0]), side(chosen[1])


def _file_side(name: str, kind: str | None) -> Side:
    file = read_schema_file(name, kind)
    return Side(name, Schema(file.type, file.text))


def compared(old: Side, new: Side) -> list[Change]:
    """Raises CliError."""
    if old.schema.type is not new.schema.type:
        raise CliError(
            f"{old.name} is {old.schema.type.value}, and {new.name} is {new.schema.type.value}.",
            attempt="the same with --text",
            code=Exit.USAGE,
        )
    return differences(_outline(old), _outline(new))


def _outline(side: Side) -> Outline:
    try:
        match side.schema.type:
            case SchemaType.AVRO:
                from tidelog.cli.schema.outlines.avro import avro_outline

                return avro_outline(side.schema.text)
            case SchemaType.JSON:
                from tidelog.cli.schema.outlines.json_schema import json_outline

                return json_outline(side.schema.text)
            case SchemaType.PROTOBUF:
                from tidelog.cli.schema.outlines.protobuf import protobuf_outline

                return protobuf_outline(side.schema.text, side.dependencies)
    except ModuleNotFoundError as error:
        raise CliError(
            f"To compare Protobuf schemas needs the package {error.name}.",
            attempt="pip install 'tidelog[schemas]', or the same with --text",
        ) from error
    except (SchemaError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CliError(
            f"{side.name} cannot be read as {side.schema.type.value}: {error}.",
            attempt="the same with --text",
            code=Exit.REFUSED,
        ) from error


def change_text(change: Change) -> str:
    sign = SIGNS[change.kind]
    if change.before is None or change.after is None:
        return f"{sign} {change.path}: {attributes_text(change.after or change.before or {})}"
    parts = [f"{name} {_shown(old)} -> {_shown(new)}" for name, old, new in change.changed()]
    if change.renamed_from is not None:
        parts.insert(0, f"renamed from {change.renamed_from}")
    return f"{sign} {change.path}: {', '.join(parts)}"


def attributes_text(attributes: Attributes) -> str:
    """`string, default "", required`."""
    parts = []
    for name, value in attributes.items():
        if name == "type":
            parts.append(value)
        else:
            parts.append(name if value == "yes" else f"{name} {value}")
    return ", ".join(parts)


def _shown(value: str | None) -> str:
    return "(none)" if value is None else value


def _counted(changes: list[Change]) -> str:
    if not changes:
        return "no field differs"
    kinds = [change.kind for change in changes]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(sorted(kinds)))


def _as_json(change: Change) -> dict[str, object]:
    made: dict[str, object] = {"path": change.path, "kind": change.kind}
    if change.renamed_from is not None:
        made["renamed_from"] = change.renamed_from
    made["before"] = None if change.before is None else dict(change.before)
    made["after"] = None if change.after is None else dict(change.after)
    return made


def _print_text(session: Session, old: Side, new: Side) -> None:
    lines = list(
        difflib.unified_diff(
            readable(old.schema).splitlines(),
            readable(new.schema).splitlines(),
            old.name,
            new.name,
            lineterm="",
        )
    )
    if session.json:
        print_json({"old": old.name, "new": new.name, "diff": lines})
    else:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
