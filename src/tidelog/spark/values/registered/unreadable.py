"""Whether a schema can read what another one wrote, by the rules that the registry itself has."""

from tidelog.registry.parsed import READER, WRITER, SchemaError, parse
from tidelog.registry.schema import Dependencies, SchemaType

SHOWN = 3


class UnreadableSchema(Exception):
    """Why the reader schema cannot read what a writer's schema wrote."""


def refuse_unreadable(
    kind: SchemaType, reader: tuple[str, Dependencies], writer: tuple[str, Dependencies]
) -> None:
    """By the registry's own rules. Raises UnreadableSchema."""
    try:
        found = parse(kind, *reader).incompatibilities(parse(kind, *writer))
    except SchemaError as error:
        raise UnreadableSchema(str(error)) from error
    if found:
        said = "; ".join(one.description for one in found[:SHOWN])
        more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise UnreadableSchema(said.replace(READER, "reading").replace(WRITER, "record's") + more)
