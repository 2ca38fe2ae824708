"""What a schema says, one level deep: the shapes that compatibility is decided on.

A schema with keywords of several kinds is a `Combined` of all of them, as Confluent has it. What lies inside
a shape is a `Part`: called, it returns the shape. So a schema that refers to itself is no endless structure.
Shapes are compared by identity.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

Number: TypeAlias = int | Decimal


class Criterion(StrEnum):
    ALL = "allOf"
    ANY = "anyOf"
    ONE = "oneOf"


class Notes(NamedTuple):
    """What a schema says of itself. It matters to no record, but a default does for a required property."""

    id: str | None = None
    title: str | None = None
    description: str | None = None
    default: bytes | None = None
    """The digest of the default value; None without one."""


NO_NOTES: Final = Notes()


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    notes: Notes = NO_NOTES
    is_connect_bytes: bool = False
    """Kafka Connect's decimals were strings once and are numbers now: Confluent lets them change."""


Part: TypeAlias = Callable[[], Shape]


class Anything(Shape):
    """The empty schema, and `true`."""


class Nothing(Shape):
    """`false`."""


class BooleanShape(Shape):
    pass


class NullShape(Shape):
    pass


class Conditional(Shape):
    """`if`, `then` and `else`, which Confluent does not compare."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Referring(Shape):
    target: Part


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StringShape(Shape):
    max_length: Number | None
    min_length: Number | None
    pattern: str | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NumberShape(Shape):
    maximum: Number | None
    minimum: Number | None
    exclusive_maximum: Number | None
    exclusive_minimum: Number | None
    multiple_of: Number | None
    is_integer: bool


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EnumShape(Shape):
    values: frozenset[bytes]
    """Digests of the values."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ConstShape(Shape):
    value: bytes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NotShape(Shape):
    part: Part


class Member(NamedTuple):
    digest: bytes
    """Equal digests: equal texts."""
    part: Part


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Combined(Shape):
    criterion: Criterion
    members: tuple[Member, ...]


class Rest(NamedTuple):
    """What is allowed beside the named properties, or after the listed items."""

    is_allowed: bool
    part: Part | None
    unevaluated: Part | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ObjectShape(Shape):
    properties: Mapping[str, Part]
    required: frozenset[str]
    pattern_properties: Mapping[str, Part]
    rest: Rest
    needed_names: Mapping[str, frozenset[str]]
    """By property: the names of others that must be there with it."""
    needed_schemas: Mapping[str, Part]
    max_properties: Number | None
    min_properties: Number | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ArrayShape(Shape):
    every_item: Part | None
    items: tuple[Part, ...]
    rest: Rest
    max_items: Number | None
    min_items: Number | None
    max_contains: Number | None
    min_contains: Number | None
    is_unique: bool
