"""A schema as clients send it and as `_schemas` keeps it: a kind, a text, references, metadata and rules.

Everything here is plain and picklable, so that a schema can be handed to a thread or to another process.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

JsonObject: TypeAlias = Mapping[str, Any]
"""Metadata and rules are kept as the JSON that a client sent; nothing changes them in place."""


class SchemaType(StrEnum):
    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


class Reference(NamedTuple):
    """`name` is how the text names the other schema: a full name, a URI, or the path of an import."""

    name: str
    subject: str
    version: int


class Dependency(NamedTuple):
    """A resolved reference: the text of another schema, under the name that a text uses for it."""

    name: str
    text: str


Dependencies: TypeAlias = Sequence[Dependency]
"""Transitive ones included, each name once, a dependency before its dependents."""


@dataclass(frozen=True, slots=True)
class Schema:
    type: SchemaType
    text: str
    references: tuple[Reference, ...] = ()
    metadata: JsonObject | None = field(default=None, hash=False)
    rule_set: JsonObject | None = field(default=None, hash=False)
