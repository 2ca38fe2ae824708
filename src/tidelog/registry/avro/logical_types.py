"""Logical types: which ones Java knows, and on which types.

A logical type that does not fit is no error, in Java neither: it is an attribute like any other.
"""

from tidelog.registry.avro.types import Fixed, Primitive

_ON = {
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "timestamp-nanos": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
    "local-timestamp-nanos": ("long",),
    "uuid": ("string", "fixed"),
    "decimal": ("bytes", "fixed"),
    "big-decimal": ("bytes",),
    "duration": ("fixed",),
}
_SIZES = {"uuid": 16, "duration": 12}


def logical_type(type_: Primitive | Fixed) -> str | None:
    """Returns the name of the type's logical type, if Java takes it for one."""
    name = type_.properties.get("logicalType")
    if not isinstance(name, str) or type_.kind not in _ON.get(name, ()):
        return None
    if isinstance(type_, Fixed) and type_.size != _SIZES.get(name, type_.size):
        return None
    return name if name != "decimal" or _is_decimal(type_) else None


def _is_decimal(type_: Primitive | Fixed) -> bool:
    precision, scale = type_.properties.get("precision"), type_.properties.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int):
        return False
    return 0 < precision <= _precision_max(type_) and 0 <= scale <= precision


def _precision_max(type_: Primitive | Fixed) -> int:
    if not isinstance(type_, Fixed):
        return 2**31 - 1
    return int((8 * type_.size - 1) * 0.30102999566398114)
