"""The normalized text of a schema, as Confluent's `normalize=true` stores it.

Attributes that Avro does not know are sorted, a logical type and its figures first; aliases and the keys of
defaults are sorted; numbers of defaults are written as their type has them; an empty doc of a type is gone.
Confluent's also loses defaults that are not of a union's first branch, and puts types without a namespace
into the namespace around them. Neither means the same, so both stay here.
"""

import math
import struct
from typing import Any

from tidelog.registry.avro.logical_types import logical_type
from tidelog.registry.avro.names import Name
from tidelog.registry.avro.types import (
    Array,
    Field,
    Fixed,
    Map,
    NamedType,
    Primitive,
    Properties,
    Record,
    Type,
    Union,
)
from tidelog.registry.avro.writing import Writer


class NormalWriter(Writer):
    keeps_errors = False

    def doc(self, type_: NamedType) -> str | None:
        return type_.doc or None

    def default(self, field: Field) -> Any:
        return _value(field.default, field.type)

    def aliases(self, type_: NamedType) -> list[Name]:
        return sorted(type_.aliases, key=lambda alias: _in_java(_as_java_says(alias, type_.name)))

    def field_aliases(self, field: Field) -> list[str]:
        return sorted(field.aliases, key=_in_java)

    def properties(self, owner: Primitive | Array | Map | NamedType | Field) -> Properties:
        ordered = {name: _sorted(owner.properties[name]) for name in sorted(owner.properties, key=_in_java)}
        if not isinstance(owner, Primitive | Fixed) or (logical := logical_type(owner)) is None:
            return ordered
        first: Properties = {"logicalType": logical}
        if logical == "decimal":
            first["precision"] = ordered["precision"]
            first |= {"scale": ordered["scale"]} if ordered.get("scale") else {}
        return first | ordered


def _as_java_says(alias: Name, name: Name) -> str:
    """Without a namespace, for a type that has a namespace, an alias begins with a dot."""
    return f".{alias.simple}" if alias.namespace is None and name.namespace is not None else alias.full


def _in_java(text: str) -> bytes:
    """The order of Java's strings, which compares halves of characters beyond 16 bits."""
    return text.encode("utf-16-be", "surrogatepass")


def _sorted(value: Any) -> Any:
    match value:
        case dict():
            return {key: _sorted(value[key]) for key in sorted(value, key=_in_java)}
        case list():
            return [_sorted(item) for item in value]
        case _:
            return value


def _value(value: Any, type_: Type | None) -> Any:
    if isinstance(type_, Union):
        type_ = type_.branches[0] if type_.branches else None
    match value:
        case bool():
            return value
        case int() | float() if type_ is not None and type_.kind in ("float", "double"):
            return _number(value, type_.kind)
        case list():
            items = type_.items if isinstance(type_, Array) else None
            return [_value(item, items) for item in value]
        case dict():
            return {key: _value(value[key], _inside(type_, key)) for key in sorted(value, key=_in_java)}
        case _:
            return value


def _inside(type_: Type | None, key: str) -> Type | None:
    match type_:
        case Map():
            return type_.values
        case Record() if key in type_.by_name:
            return type_.by_name[key].type
        case _:
            return None


def _number(value: float, kind: str) -> float:
    """Returns the number as a double; of a float, with as many digits as tell it from other floats."""
    try:
        value = float(value)
        if kind == "double":
            return value
        (single,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        return value
    if math.isnan(single):
        return value
    return next(
        shorter for digits in range(1, 10) if _as_single(shorter := float(f"{single:.{digits}g}")) == single
    )


def _as_single(value: float) -> float:
    (single,) = struct.unpack("f", struct.pack("f", value))
    return float(single)
