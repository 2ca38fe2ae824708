"""Strings, numbers, enums and constants: what changed in their keywords."""

from decimal import Context, Decimal, DecimalException
from typing import Final

from tidelog.registry.json_schema.comparing.findings import Findings
from tidelog.registry.json_schema.shapes import ConstShape, EnumShape, Number, NumberShape, StringShape

_EXACT: Final = Context(prec=400)
"""More digits than any double has. Numbers whose quotient has more are taken for no multiples."""


def compare_limit(
    found: Findings, name: str, keyword: str, original: Number | None, update: Number | None
) -> None:
    """A limit, upper or lower: added, removed, increased or decreased."""
    if original == update:
        return
    if original is None or update is None:
        found.add(f"{name}_ADDED" if original is None else f"{name}_REMOVED", keyword)
    else:
        found.add(f"{name}_INCREASED" if original < update else f"{name}_DECREASED", keyword)


def compare_strings(original: StringShape, update: StringShape, found: Findings) -> None:
    compare_limit(found, "MAX_LENGTH", "maxLength", original.max_length, update.max_length)
    compare_limit(found, "MIN_LENGTH", "minLength", original.min_length, update.min_length)
    if original.pattern != update.pattern:
        if original.pattern is None:
            found.add("PATTERN_ADDED", "pattern")
        else:
            found.add("PATTERN_REMOVED" if update.pattern is None else "PATTERN_CHANGED", "pattern")


def compare_numbers(original: NumberShape, update: NumberShape, found: Findings) -> None:
    compare_limit(found, "MAXIMUM", "maximum", original.maximum, update.maximum)
    compare_limit(found, "MINIMUM", "minimum", original.minimum, update.minimum)
    compare_limit(
        found, "EXCLUSIVE_MAXIMUM", "exclusiveMaximum", original.exclusive_maximum, update.exclusive_maximum
    )
    compare_limit(
        found, "EXCLUSIVE_MINIMUM", "exclusiveMinimum", original.exclusive_minimum, update.exclusive_minimum
    )
    _compare_multiples(original.multiple_of, update.multiple_of, found)
    if original.is_integer != update.is_integer:
        found.add("TYPE_EXTENDED" if original.is_integer else "TYPE_NARROWED")


def compare_enums(original: EnumShape, update: EnumShape, found: Findings) -> None:
    if original.values < update.values:
        found.add("ENUM_ARRAY_EXTENDED", "enum")
    elif original.values > update.values:
        found.add("ENUM_ARRAY_NARROWED", "enum")
    elif original.values != update.values:
        found.add("ENUM_ARRAY_CHANGED", "enum")


def compare_constants(original: ConstShape, update: ConstShape, found: Findings) -> None:
    if original.value != update.value:
        found.add("ENUM_ARRAY_CHANGED", "const")


def _compare_multiples(original: Number | None, update: Number | None, found: Findings) -> None:
    if original == update:
        return
    if original is None or update is None:
        kind = "MULTIPLE_OF_ADDED" if original is None else "MULTIPLE_OF_REMOVED"
    elif _is_multiple(update, original):
        kind = "MULTIPLE_OF_EXPANDED"
    else:
        kind = "MULTIPLE_OF_REDUCED" if _is_multiple(original, update) else "MULTIPLE_OF_CHANGED"
    found.add(kind, "multipleOf")


def _is_multiple(number: Number, of: Number) -> bool:
    try:
        return _EXACT.remainder(Decimal(number), Decimal(of)) == 0
    except DecimalException:
        return False
