"""Defaults of fields have to be values of the fields' types, as Java's parser wants them by default.

A default of a union may be of any branch. A field that a default of a record leaves out has its own default.
"""

from collections.abc import Iterable
from typing import Any

from tidelog.registry.avro.attributes import brief
from tidelog.registry.avro.limits import Steps, check_nesting
from tidelog.registry.avro.types import ABSENT, Array, Field, Map, Record, Type, Union
from tidelog.registry.parsed import SchemaError

_INT, _LONG = 2**31, 2**63


def check_defaults(fields: Iterable[Field]) -> None:
    defaults = _Defaults()
    for field in fields:
        defaults.check(field)


class _Defaults:
    """Remembers answers: types that refer to each other would ask for the same ones without end."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], bool] = {}
        """By the identities of a type and a value, which both live as long as the schema."""
        self._steps = Steps("The check of the defaults")
        self._levels = 0

    def check(self, field: Field) -> None:
        if field.has_default and not self._fits(field.type, field.default):
            raise SchemaError(
                f'Invalid default for the field "{field.name}": {brief(field.default)} is no value of its '
                f"type {_described(field.type)}."
            )

    def _fits(self, type_: Type, value: Any) -> bool:
        if value is ABSENT:
            return False
        if not isinstance(type_, Array | Map | Union | Record):
            self._steps.take()
            return _fits_plain(type_.kind, value)
        key = (id(type_), id(value))
        if (known := self._known.get(key)) is not None:
            return known
        self._known[key] = True  # a record whose default contains the same record without end
        self._steps.take()
        self._levels += 1
        check_nesting(self._levels)
        fits = self._known[key] = self._fits_inside(type_, value)
        self._levels -= 1
        return fits

    def _fits_inside(self, type_: Array | Map | Union | Record, value: Any) -> bool:
        match type_:
            case Array():
                return isinstance(value, list) and all(self._fits(type_.items, item) for item in value)
            case Map():
                return isinstance(value, dict) and all(
                    self._fits(type_.values, item) for item in value.values()
                )
            case Union():
                return any(self._fits(branch, value) for branch in type_.branches)
            case Record():
                return isinstance(value, dict) and all(
                    self._fits(field.type, value.get(field.name, field.default)) for field in type_.fields
                )


def _fits_plain(kind: str, value: Any) -> bool:
    match kind:
        case "string" | "bytes" | "enum" | "fixed":
            return isinstance(value, str)
        case "int":
            return _is_integer(value) and -_INT <= value < _INT
        case "long":
            return _is_integer(value) and -_LONG <= value < _LONG
        case "float" | "double":
            return _is_integer(value) or isinstance(value, float)
        case "boolean":
            return isinstance(value, bool)
        case _:
            return value is None


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _described(type_: Type) -> str:
    if isinstance(type_, Union):
        return f"union of {', '.join(branch.kind for branch in type_.branches[:20])}"
    return type_.kind
