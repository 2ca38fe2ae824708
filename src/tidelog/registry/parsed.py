"""What each kind of schema can do, and `parse`, which finds the kind.

A kind is a package with a module `parsing`, which has `parse(text, dependencies)`, and may have
`check_new(schema)`. It is imported when the first schema of its kind comes, and so are the libraries that it
needs.
"""

from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from types import ModuleType
from typing import NamedTuple, Protocol, Self

from tidelog.registry.schema import Dependencies, SchemaType

READER = "{reader}"
WRITER = "{writer}"
"""Stand in a description for "new" and "old", or for "old" and "new": that depends on the direction."""


class Policy(StrEnum):
    """How strict a comparison is. Only JSON schemas differ in it."""

    STRICT = "STRICT"
    LENIENT = "LENIENT"
    """Old records are taken to have no other properties than their schema names, also where it is open."""


class SchemaError(Exception):
    """A text that is no schema of its kind, or is beyond a limit. The sentence is for people."""


class Incompatibility(NamedTuple):
    """Why a reader cannot read what a writer wrote: Confluent's name of the rule, and its sentence.

    The sentence says `READER` and `WRITER` where it names a side: "The {reader} schema is missing ...".
    `info` is what Confluent adds for Avro alone (`additionalInfo`); the others leave it None.
    """

    kind: str
    description: str
    info: str | None = None


class ParsedSchema(Protocol):
    """Immutable, and shared by threads."""

    @property
    def type(self) -> SchemaType: ...

    @property
    def text(self) -> str:
        """The schema as it is stored and given back: Confluent's canonical string."""
        ...

    def normalized(self) -> Self:
        """Returns what `normalize=true` stores: equal for texts that differ in no meaning."""
        ...

    def formatted(self, format: str) -> str:
        """Returns the text in a format of the kind (`resolved`, `serialized` ...); `text` for any other."""
        ...

    def top_level_fields(self) -> frozenset[str]:
        """Returns the names of the fields that are not inside of others."""
        ...

    def incompatibilities(self, writer: Self, policy: Policy = Policy.STRICT) -> list[Incompatibility]:
        """Returns why this schema, as the reader, cannot read what `writer` wrote. Empty: it can."""
        ...


_KINDS = {
    SchemaType.AVRO: "tidelog.registry.avro.parsing",
    SchemaType.JSON: "tidelog.registry.json_schema.parsing",
    SchemaType.PROTOBUF: "tidelog.registry.protobuf.parsing",
}


def parse(kind: SchemaType, text: str, dependencies: Dependencies = ()) -> ParsedSchema:
    """Raises SchemaError where the text, with its dependencies, is no schema of the kind."""
    parse_kind: Callable[[str, Dependencies], ParsedSchema] = _module(kind).parse
    try:
        return parse_kind(text, dependencies)
    except RecursionError:
        raise SchemaError(
            "The schema is nested too deeply. Split it into schemas that refer to each other."
        ) from None


def check_new(schema: ParsedSchema) -> None:
    """Raise SchemaError for what a stored schema may have, and a new one may not."""
    check: Callable[[ParsedSchema], None] | None = getattr(_module(schema.type), "check_new", None)
    if check is not None:
        check(schema)


def _module(kind: SchemaType) -> ModuleType:
    try:
        return import_module(_KINDS[kind])
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("tidelog"):
            raise
        raise SchemaError(
            f"This broker lacks the package '{error.name}', which schemas of type {kind} need. "
            "Install it with pip install 'tidelog[schemas]', and start the broker again."
        ) from None
