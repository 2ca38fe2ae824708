"""Compatibility levels: which earlier versions a new schema is compared with, and in which direction.

A schema is backward compatible if, as the reader, it reads what an earlier version wrote, and forward
compatible if an earlier version reads what it wrote. Messages have Confluent's wording, which people search
for.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from tidelog.registry.parsed import READER, WRITER, Incompatibility, ParsedSchema, Policy
from tidelog.registry.reserved_fields import Reserved
from tidelog.registry.schema import SchemaType

SHOWN_CHARS_MAX = 10 * 1024
"""Of an earlier schema in a message."""
REASONS_MAX = 200
REASONS_CHARS_MAX = 256 * 1024
"""Of the reasons why one schema cannot read another. The first one is given, however long."""


class Level(StrEnum):
    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def is_transitive(self) -> bool:
        """Whether every earlier version counts, not the latest alone."""
        return self.endswith("_TRANSITIVE")

    @property
    def is_backward(self) -> bool:
        return self.startswith(("BACKWARD", "FULL"))

    @property
    def is_forward(self) -> bool:
        return self.startswith(("FORWARD", "FULL"))


DEFAULT_LEVEL = Level.BACKWARD


class Checks(NamedTuple):
    """What a configuration asks a new version to hold to."""

    level: Level = Level.NONE
    policy: Policy = Policy.STRICT
    has_reserved_fields: bool = False


class EarlierVersion(NamedTuple):
    version: int
    schema: ParsedSchema


def problems(
    level: Level,
    schema: ParsedSchema,
    newest_first: Iterable[EarlierVersion],
    policy: Policy = Policy.STRICT,
    reserved: Reserved | None = None,
) -> list[str]:
    """Returns why a schema breaks the level, for the first earlier version that it breaks it with.

    And why it breaks what is reserved, at any level; None: nothing is.
    """
    found = [] if reserved is None else reserved.problems(schema.top_level_fields())
    found += _first_broken(level, policy, schema, newest_first)
    if found:
        validated = "false" if reserved is None else "true"
        found.append(f"{{validateFields: '{validated}', compatibility: '{level}'}}")
    return found


def _first_broken(
    level: Level, policy: Policy, schema: ParsedSchema, newest_first: Iterable[EarlierVersion]
) -> list[str]:
    if level is Level.NONE:
        return []
    for earlier in newest_first:
        found = _between(level, policy, schema, earlier)
        if found or not level.is_transitive:
            return found
    return []


def _between(level: Level, policy: Policy, schema: ParsedSchema, earlier: EarlierVersion) -> list[str]:
    if schema.type != earlier.schema.type:
        return ["Incompatible because of different schema type"]
    found: list[str] = []
    if level.is_forward:
        faults = earlier.schema.incompatibilities(schema, policy)
        found += _limited(_sentence(schema.type, fault, "old", "new") for fault in faults)
    if level.is_backward:
        faults = schema.incompatibilities(earlier.schema, policy)
        found += _limited(_sentence(schema.type, fault, "new", "old") for fault in faults)
    return [*found, *_shown(earlier)] if found else []


def _limited(reasons: Iterable[str]) -> Iterator[str]:
    chars = 0
    for number, reason in enumerate(reasons):
        chars += len(reason)
        if number and (number >= REASONS_MAX or chars > REASONS_CHARS_MAX):
            return
        yield reason


def _sentence(kind: SchemaType, fault: Incompatibility, reader: str, writer: str) -> str:
    description = fault.description.replace(READER, reader).replace(WRITER, writer)
    if kind is SchemaType.AVRO:
        return (
            f"{{errorType:'{fault.kind}', description:'{description}', additionalInfo:'{fault.info or ''}'}}"
        )
    return f'{{errorType:"{fault.kind}", description:"{description}"}}'


def _shown(earlier: EarlierVersion) -> list[str]:
    text = earlier.schema.text
    if len(text) > SHOWN_CHARS_MAX:
        return [
            f"{{oldSchemaVersion: {earlier.version}}}",
            f"{{oldSchema: <truncated> '{text[:SHOWN_CHARS_MAX]}...'}}",
        ]
    return [f"{{oldSchemaVersion: {earlier.version}}}", f"{{oldSchema: '{text}'}}"]
