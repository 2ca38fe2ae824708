"""The types of Avro, as a parsed schema holds them: a graph, since a record may contain itself by its name.

Reading builds the graph; after that nothing changes it. Types are compared by identity.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from typing import Any, Final, TypeAlias

from tidelog.registry.avro.names import Name

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})

Properties: TypeAlias = dict[str, Any]
"""Attributes that Avro does not know, logical types among them, in the order of the text."""

ABSENT: Final = object()
"""No default: a default may be null."""


@dataclass(slots=True, eq=False)
class Primitive:
    kind: str
    properties: Properties


@dataclass(slots=True, eq=False)
class Array:
    items: "Type"
    properties: Properties
    kind: str = "array"


@dataclass(slots=True, eq=False)
class Map:
    values: "Type"
    properties: Properties
    kind: str = "map"


@dataclass(slots=True, eq=False)
class Union:
    branches: list["Type"]
    kind: str = "union"
    _places: "dict[Name | str | None, list[int]] | None" = None
    """Of branches, by their simple names and by their aliases; None: of those without a name."""

    def candidates(self, writer: "Type") -> "Iterator[Type]":
        """Yields the branches that may read what `writer` wrote: those that `reads_name` takes, or for a type
        without a name those without one."""
        if self._places is None:
            self._places = {}
            for place, branch in enumerate(self.branches):
                for name in _names_taken(branch):
                    self._places.setdefault(name, []).append(place)
        found = merge(*(self._places.get(name, ()) for name in _names_given(writer)))
        return (self.branches[place] for place, _ in groupby(found))


@dataclass(slots=True, eq=False)
class Field:
    name: str
    type: "Type"
    doc: str | None
    default: Any
    order: str
    aliases: tuple[str, ...]
    properties: Properties

    @property
    def has_default(self) -> bool:
        return self.default is not ABSENT


@dataclass(slots=True, eq=False)
class Record:
    name: Name
    doc: str | None
    aliases: "dict[Name, None]" = field(default_factory=dict)
    properties: Properties = field(default_factory=dict)
    fields: list[Field] = field(default_factory=list)
    by_name: dict[str, Field] = field(default_factory=dict)
    is_error: bool = False
    kind: str = "record"


@dataclass(slots=True, eq=False)
class Enum:
    name: Name
    doc: str | None
    aliases: "dict[Name, None]"
    properties: Properties
    symbols: list[str]
    default: str | None
    kind: str = "enum"


@dataclass(slots=True, eq=False)
class Fixed:
    name: Name
    doc: str | None
    aliases: "dict[Name, None]"
    properties: Properties
    size: int
    kind: str = "fixed"


NamedType: TypeAlias = Record | Enum | Fixed
Type: TypeAlias = Primitive | Array | Map | Union | NamedType


def reads_name(reader: NamedType, writer: NamedType) -> bool:
    """Whether the reader goes by the writer's name: its own name, in any namespace, or the full name as an
    alias. So says the specification since Avro 1.10."""
    return reader.name.simple == writer.name.simple or writer.name in reader.aliases


def _names_taken(reader: Type) -> "Iterable[Name | str | None]":
    return (reader.name.simple, *reader.aliases) if isinstance(reader, NamedType) else (None,)


def _names_given(writer: Type) -> "Iterable[Name | str | None]":
    return (writer.name.simple, writer.name) if isinstance(writer, NamedType) else (None,)


def full_name(type_: Type) -> str:
    """The name that a union knows a branch by."""
    return type_.name.full if isinstance(type_, NamedType) else type_.kind
