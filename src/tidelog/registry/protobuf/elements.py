"""What a `.proto` file says, element by element, as it is written: names are not resolved, comments are gone.

The canonical text is printed from these elements, and comparisons walk them. They follow the statements of a
file rather than a descriptor, because Confluent's registry stores a text that keeps them.
"""

from enum import StrEnum
from typing import NamedTuple, TypeAlias

NUMBER_MAX = 536_870_911
"""The largest number of a field; `max` in a range of numbers."""

ENUM_NUMBER_MAX = 2**31 - 1

FULL_NAME_MAX = 512
"""Characters of a name with its package: a descriptor repeats full names, so long ones would add up."""

SCALARS = frozenset(
    [
        "double",
        "float",
        "int32",
        "int64",
        "uint32",
        "uint64",
        "sint32",
        "sint64",
        "fixed32",
        "fixed64",
        "sfixed32",
        "sfixed64",
        "bool",
        "string",
        "bytes",
    ]
)


class Kind(StrEnum):
    STRING = "STRING"
    BOOLEAN = "BOOLEAN"
    NUMBER = "NUMBER"
    ENUM = "ENUM"
    OPTION = "OPTION"
    MAP = "MAP"
    LIST = "LIST"


class Value(NamedTuple):
    """The value of an option. A string's bytes that are no UTF-8 stand as surrogates (`surrogateescape`)."""

    kind: Kind
    content: "str | Option | tuple[Entry, ...] | tuple[Value, ...]"


class Entry(NamedTuple):
    key: str
    value: Value


class Option(NamedTuple):
    """`(a.b).c = 1` is the option `a.b`, parenthesized, whose value is the option `c`."""

    name: str
    value: Value
    parenthesized: bool = False


class Range(NamedTuple):
    """Both ends are included."""

    first: int
    last: int


Reserved: TypeAlias = tuple[str | int | Range, ...]
"""The values of one `reserved` statement."""


class Field(NamedTuple):
    label: str | None
    type: str
    name: str
    number: int
    options: tuple[Option, ...] = ()


class Group(NamedTuple):
    label: str | None
    number: int
    message: "Message"
    options: tuple[Option, ...] = ()


class OneOf(NamedTuple):
    name: str
    fields: tuple[Field, ...] = ()
    groups: tuple[Group, ...] = ()
    options: tuple[Option, ...] = ()


class Extensions(NamedTuple):
    values: tuple[int | Range, ...]
    options: tuple[Option, ...] = ()


class Extend(NamedTuple):
    name: str
    fields: tuple[Field, ...] = ()
    groups: tuple[Group, ...] = ()


class Constant(NamedTuple):
    name: str
    number: int
    options: tuple[Option, ...] = ()


class Enum(NamedTuple):
    name: str
    constants: tuple[Constant, ...] = ()
    options: tuple[Option, ...] = ()
    reserved: tuple[Reserved, ...] = ()
    visibility: str | None = None


class Message(NamedTuple):
    name: str
    fields: tuple[Field, ...] = ()
    oneofs: tuple[OneOf, ...] = ()
    groups: tuple[Group, ...] = ()
    types: "tuple[Message | Enum, ...]" = ()
    options: tuple[Option, ...] = ()
    reserved: tuple[Reserved, ...] = ()
    extensions: tuple[Extensions, ...] = ()
    extends: tuple[Extend, ...] = ()
    visibility: str | None = None

    @property
    def is_map_entry(self) -> bool:
        """Descriptors say a map as a repeated message of this kind; a text may repeat what they say."""
        return any(option.name == "map_entry" and option.value.content == "true" for option in self.options)

    def map_type(self) -> str:
        """Returns the type of the map that this message is the entry of."""
        types = {field.name: field.type for field in self.fields}
        return f"map<{types.get('key', 'string')}, {types.get('value', 'string')}>"


class Rpc(NamedTuple):
    name: str
    request: str
    response: str
    request_streaming: bool = False
    response_streaming: bool = False
    options: tuple[Option, ...] = ()


class Service(NamedTuple):
    name: str
    rpcs: tuple[Rpc, ...] = ()
    options: tuple[Option, ...] = ()


class File(NamedTuple):
    """`syntax` is "proto2", "proto3", an edition ("2023"), or None where the file says none: proto2."""

    syntax: str | None = None
    package: str | None = None
    imports: tuple[str, ...] = ()
    public_imports: tuple[str, ...] = ()
    weak_imports: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    types: tuple[Message | Enum, ...] = ()
    extends: tuple[Extend, ...] = ()
    services: tuple[Service, ...] = ()

    @property
    def is_edition(self) -> bool:
        return self.syntax is not None and not self.syntax.startswith("proto")

    @property
    def every_import(self) -> tuple[str, ...]:
        return self.imports + self.public_imports + self.weak_imports


def map_types(type_name: str) -> tuple[str, str] | None:
    """Returns the types of key and value where the type is a map, written as `map<key, value>`."""
    if not type_name.startswith("map<"):
        return None
    key, _, value = type_name[4:-1].partition(",")
    return key.strip(), value.strip()
