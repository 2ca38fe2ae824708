"""How small a field can be on the wire and how heavy it is once decoded: the two sides of amplification."""

from tidelog.base.invariant import invariant
from tidelog.wire.schema import Field

_SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "u16": 2, "u32": 4, "f64": 8, "bool": 1, "uuid": 16}

_POINTER = 8
_LIST = 64
_STRUCT = 32
_WEIGHTS = {
    # What CPython 3.11 to 3.13 allocate for an object with little or nothing in it.
    "i8": 0,
    "bool": 0,
    "i16": 32,
    "u16": 32,
    "i32": 32,
    "u32": 32,
    "i64": 32,
    "f64": 24,
    "str": 56,
    "bytes": 40,
    "uuid": 56,
    "rec": 200,
}


def has_records(fields: tuple[Field, ...], version: int) -> bool:
    return any(
        field.versions.hold(version) and (field.type == "rec" or has_records(field.fields, version))
        for field in fields
    )


def minimum_size(array: Field, version: int, flexible: bool) -> int:
    """The fewest bytes that one element of `array` takes; never zero, so that a count can be checked."""
    size = _element_size(array, version, flexible)
    invariant(size > 0, "an array of elements without bytes cannot be bounded", field=array.name)
    return size


def weight(array: Field, version: int) -> int:
    """Roughly the memory one decoded element of `array` takes, without the elements of arrays inside it."""
    return _POINTER + _element_weight(array, version)


def _element_size(field: Field, version: int, flexible: bool) -> int:
    if field.is_struct:
        present = (inner for inner in field.fields if inner.tag is None and inner.versions.hold(version))
        return sum(_size(inner, version, flexible) for inner in present) + flexible
    if field.type == "str":
        return 1 if flexible else 2
    return _SIZES.get(field.type, 1 if flexible else 4)


def _size(field: Field, version: int, flexible: bool) -> int:
    if field.is_array:
        return 1 if flexible else 4
    if field.is_struct and field.nullable_in(version):
        return 1
    return _element_size(field, version, flexible)


def _element_weight(field: Field, version: int) -> int:
    if not field.is_struct:
        return _WEIGHTS[field.type]
    present = (inner for inner in field.fields if inner.versions.hold(version))
    return (
        _STRUCT
        + _POINTER * len(field.fields)
        + sum(_LIST if inner.is_array else _element_weight(inner, version) for inner in present)
    )
