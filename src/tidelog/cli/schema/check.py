"""`tidelog schema check`: would a registry take this schema? An exit code for CI, and sentences for people.

Two files or more are compared on the spot, by the rules that the broker's registry follows too.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import print_json
from tidelog.cli.schema.connection import registry, registry_options
from tidelog.cli.schema.files import SchemaFile, WantedReference, read_schema_file, reference_of, type_option
from tidelog.cli.schema.imports import needed_files
from tidelog.cli.schema.messages import Faults, read_messages
from tidelog.cli.schema.names import complete_subject
from tidelog.cli.schema.register import read_others, reference_options, resolved
from tidelog.cli.schema.versions import versions_there
from tidelog.cli.session import Session, pass_session
from tidelog.registry.compatibility import DEFAULT_LEVEL, EarlierVersion, Level, problems
from tidelog.registry.parsed import ParsedSchema, Policy, SchemaError, parse
from tidelog.registry.schema import Dependency, Schema

if TYPE_CHECKING:
    from tidelog.blocking.registry.client import RegistryClient


INVALID = "Invalid schema"
"""How a registry begins to say that there is nothing to compare."""


class Verdict(NamedTuple):
    level: str
    found: Faults
    is_first: bool = False
    """Whether there is no earlier version to compare with."""


@click.command()
@click.argument(
    "against", nargs=-1, required=True, metavar="SUBJECT|OLD_FILE…", shell_complete=complete_subject
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@type_option
@click.option(
    "--level",
    type=click.Choice([level.value for level in Level], case_sensitive=False),
    help="The compatibility to check. [default: the subject's own; BACKWARD for files]",
)
@click.option("--version", metavar="N", help="Compare with this version alone; `latest` is the newest.")
@reference_options
@registry_options
@pass_session
def check(
    session: Session,
    against: tuple[str, ...],
    file: str,
    kind: str | None,
    level: str | None,
    version: str | None,
    references: tuple[str, ...],
    others: tuple[str, ...],
    registry_url: str | None,
) -> Exit:
    """Check whether a schema is compatible with a subject, or with older files.

    Exits with 0 if it is, with 1 if it is not, and with 6 if the file holds no valid schema. The subject's
    level says which versions count, and in which direction. Files, the oldest first, need no registry.

    \b
    tidelog schema check orders-value order.avsc
    tidelog schema check orders-value order.avsc --level FULL_TRANSITIVE
    tidelog schema check old/order.avsc new/order.avsc
    """
    new = read_schema_file(file, kind)
    rest = read_others(others, new)
    wanted = [reference_of(text) for text in references]
    if all(Path(name).is_file() for name in against):
        older = [read_schema_file(name, kind) for name in against]
        verdict = among_files(older, new, rest, Level(level.upper()) if level else DEFAULT_LEVEL)
        names = ", ".join(against)
    elif len(against) > 1:
        missing = next(name for name in against if not Path(name).is_file())
        raise CliError(f"There is no file {missing}.", code=Exit.NOT_FOUND)
    else:
        [names] = against
        with registry(session, registry_url) as client:
            if level is None and not rest:
                verdict = by_registry(client, names, new, wanted, version)
            else:
                chosen = None if level is None else Level(level.upper())
                verdict = by_versions(client, names, new, wanted, rest, chosen, version)
    return _report(session, names, file, verdict)


def among_files(older: list[SchemaFile], new: SchemaFile, others: list[SchemaFile], level: Level) -> Verdict:
    earlier = [EarlierVersion(number, _parsed(file, others)) for number, file in enumerate(older, start=1)]
    found = problems(level, _parsed(new, others), reversed(earlier))
    return Verdict(level.value, read_messages(found))


def by_registry(
    client: "RegistryClient",
    subject: str,
    new: SchemaFile,
    wanted: list[WantedReference],
    version: str | None,
) -> Verdict:
    """The registry's own word."""
    from tidelog.blocking.registry.errors import RegistryRefused

    schema = Schema(new.type, new.text, tuple(resolved(client, subject, wanted).values()))
    level = _level_in(client.config(subject, default_to_global=True) or {})
    try:
        answer = client.check(subject, schema, version)
    except RegistryRefused as refusal:
        if not refusal.is_not_found or version not in (None, "latest"):
            raise
        return Verdict(level, Faults([], None), is_first=True)
    if not answer.is_compatible and any(text.startswith(INVALID) for text in answer.messages):
        raise CliError(f"{new.name}: {answer.messages[0]}", code=Exit.REFUSED)
    found = read_messages(answer.messages)
    if not answer.is_compatible and not found.faults:
        found = read_messages([*answer.messages, "The registry finds the schema incompatible."])
    is_first = answer.is_compatible and not versions_there(client, subject)
    return Verdict(level, found if not answer.is_compatible else Faults([], None), is_first)


def by_versions(
    client: "RegistryClient",
    subject: str,
    new: SchemaFile,
    wanted: list[WantedReference],
    others: list[SchemaFile],
    level: Level | None,
    version: str | None,
) -> Verdict:
    """The subject's versions compared here: by a level that is not its own, or with files as references."""
    config = client.config(subject, default_to_global=True) or {}
    chosen = level or Level(_level_in(config))
    policy = Policy.LENIENT if config.get("compatibilityPolicy") == Policy.LENIENT else Policy.STRICT
    given = Schema(new.type, new.text, tuple(resolved(client, subject, wanted).values()))
    parsed = _parsed(new, others, client.dependencies(given, subject))
    numbers: list[int | str] = list(versions_there(client, subject)) if version is None else [version]
    earlier = []
    for number in numbers if chosen.is_transitive else numbers[-1:]:
        one = client.version(subject, number)
        dependencies = client.dependencies(one.schema, one.subject)
        earlier.append(EarlierVersion(one.version, parse(one.schema.type, one.schema.text, dependencies)))
    found = problems(chosen, parsed, reversed(earlier), policy)
    return Verdict(chosen.value, read_messages(found), is_first=not earlier)


def _level_in(config: Mapping[str, Any]) -> str:
    return str(config.get("compatibilityLevel") or DEFAULT_LEVEL.value)


def _parsed(file: SchemaFile, others: list[SchemaFile], known: tuple[Dependency, ...] = ()) -> ParsedSchema:
    needed, _ = needed_files(file, others, [dependency.name for dependency in known])
    dependencies = (*known, *(Dependency(one.name, one.file.text) for one in needed))
    try:
        return parse(file.type, file.text, dependencies)
    except SchemaError as error:
        raise CliError(f"{file.name}: {error}", code=Exit.REFUSED) from error


def _report(session: Session, names: str, file: str, verdict: Verdict) -> Exit:
    level, (faults, version), is_first = verdict
    if session.json:
        facts: dict[str, Any] = {
            "against": names,
            "file": file,
            "level": level,
            "is_compatible": not faults,
            "version": version,
            "faults": [{"rule": fault.rule, "message": fault.sentence} for fault in faults],
        }
        print_json(facts)
    elif is_first:
        print(f"{file} would be the first version of '{names}'.")
    elif not faults:
        print(f"{file} is compatible with {names} ({level}).")
    else:
        which = (
            "" if version is None or ("," not in names and Path(names).is_file()) else f" version {version}"
        )
        print(f"{file} is not compatible with {names}{which} ({level}):")
        for fault in faults:
            print(f"  - {fault.text}")
    return Exit.FAILED if faults else Exit.OK
