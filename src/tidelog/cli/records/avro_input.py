"""JSON as Avro values: what JSON has no form for is read from text, as `consume` prints it.

A branch of a union may be named, {"string": "x"}, as in Avro's own JSON encoding, or left to the value.
"""

import base64
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
TIMES = {
    "timestamp-millis": datetime.fromisoformat,
    "timestamp-micros": datetime.fromisoformat,
    "local-timestamp-millis": datetime.fromisoformat,
    "local-timestamp-micros": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time-millis": time.fromisoformat,
    "time-micros": time.fromisoformat,
}


class AvroInput:
    """`schema` as fastavro has parsed it. A value that does not fit stays as it is: the writer refuses it."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._named: dict[str, Any] = {}
        _collect(schema, self._named)

    def value(self, value: Any) -> Any:
        """Raises ValueError for a text that is no date, decimal or the like."""
        return _value(self._schema, value, self._named)


def _collect(schema: Any, named: dict[str, Any]) -> None:
    if isinstance(schema, list):
        for branch in schema:
            _collect(branch, named)
    elif isinstance(schema, dict):
        if schema["type"] in ("record", "error", "enum", "fixed"):
            named[schema["name"]] = schema
        for field in schema.get("fields") or ():
            _collect(field["type"], named)
        for inner in (schema["type"], schema.get("items"), schema.get("values")):
            _collect(inner, named)


def _value(schema: Any, value: Any, named: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return _union(schema, value, named)
    if isinstance(schema, str):
        if schema in named:
            return _value(named[schema], value, named)
        return _bytes(value) if schema == "bytes" else value
    kind = schema["type"]
    logical = schema.get("logicalType")
    if logical == "decimal":
        return _decimal(value)
    if logical in TIMES and isinstance(value, str):
        return TIMES[logical](value)
    if kind in ("record", "error"):
        return _record(schema, value, named)
    if kind == "array" and isinstance(value, list):
        return [_value(schema["items"], item, named) for item in value]
    if kind == "map" and isinstance(value, dict):
        return {name: _value(schema["values"], item, named) for name, item in value.items()}
    if kind in ("bytes", "fixed"):
        return _bytes(value)
    return value if kind in (*PRIMITIVES, "enum", "array", "map") else _value(kind, value, named)


def _record(schema: Mapping[str, Any], value: Any, named: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    fields = {field["name"]: field for field in schema["fields"]}
    if unknown := sorted(value.keys() - fields.keys()):
        raise ValueError(f"'{unknown[0]}' is no field of {schema['name']}; it has {', '.join(fields)}")
    return {name: _value(fields[name]["type"], inner, named) for name, inner in value.items()}


def _union(schema: list[Any], value: Any, named: dict[str, Any]) -> Any:
    branches = {_name(branch): branch for branch in schema}
    if isinstance(value, dict) and len(value) == 1:
        [(name, inner)] = value.items()
        if name in branches:
            return _value(branches[name], inner, named)
    if value is None and "null" in branches:
        return None
    others = [branch for name, branch in branches.items() if name != "null"]
    if len(others) == 1:
        return _value(others[0], value, named)
    return value


def _name(branch: Any) -> str:
    if isinstance(branch, dict):
        return str(branch.get("name") or branch["type"])
    return str(branch)


def _bytes(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"base64"}:
        return base64.b64decode(value["base64"], validate=True)
    return value.encode() if isinstance(value, str) else value


def _decimal(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{value!r} is no decimal number") from None
