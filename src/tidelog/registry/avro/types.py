"""The types of Avro, as a parsed schema holds them: a graph, since a record may contain itself by its name.

Reading builds the graph; after that nothing changes it. Types are compared by identity.
"""

from dataclasses import dataclass, field
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
    _by_name: "dict[Name | None, list[Type]] | None" = None

    def candidates(self, writer: "Type") -> list["Type"]:
        """Returns the branches that may read what `writer` wrote: those of its name, or without a name."""
        if self._by_name is None:
            by_name: dict[Name | None, list[Type]] = {None: []}
            for branch in self.branches:
                if isinstance(branch, NamedType):
                    for name in {branch.name, *branch.aliases}:
                        by_name.setdefault(name, []).append(branch)
                else:
                    by_name[None].append(branch)
            self._by_name = by_name
        return self._by_name.get(writer.name if isinstance(writer, NamedType) else None, [])


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


def full_name(type_: Type) -> str:
    """The name that a union knows a branch by."""
    return type_.name.full if isinstance(type_, NamedType) else type_.kind
