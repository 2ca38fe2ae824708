"""Avro schemas as Arrow types: what Spark shows of a record.

A union of null and another type is a nullable column. Spark has no type for any other union, for a record
that holds itself, or for a time of day, so these are refused when the schema is read, with the field's name.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tidelog.spark.values.errors import BadSchema

FIELDS_MAX = 10_000
"""Records that each hold the next one twice have more fields than a memory."""
UTC_MICROS = pa.timestamp("us", tz="UTC")
PRIMITIVES: dict[str, pa.DataType] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
LOGICAL: dict[tuple[str, str], pa.DataType] = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-millis"): UTC_MICROS,
    ("long", "timestamp-micros"): UTC_MICROS,
    ("long", "local-timestamp-millis"): pa.timestamp("us"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("string", "uuid"): pa.string(),
}


class AvroTypes:
    """Of one schema; `named` has the parts of it, and of its dependencies, by their full names."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._fields = 0
        self.has_uuids = False

    def of(self, schema: Any, where: str = "the record", inside: tuple[str, ...] = ()) -> pa.DataType:
        if isinstance(schema, list):
            return self._union(schema, where, inside)
        if isinstance(schema, str):
            return self._by_name(schema, where, inside)
        kind = schema["type"]
        logical = schema.get("logicalType")
        if logical == "decimal":
            return pa.decimal128(schema["precision"], schema.get("scale", 0))
        if logical in ("time-millis", "time-micros"):
            raise BadSchema(f"{where} is a time of day, which Spark's tables don't hold")
        self.has_uuids = self.has_uuids or logical == "uuid"
        if isinstance(kind, str) and (kind, logical) in LOGICAL:
            return LOGICAL[kind, logical]
        match kind:
            case "record" | "error":
                return self._record(schema, where, inside)
            case "array":
                return pa.list_(self.of(schema["items"], where, inside))
            case "map":
                return pa.map_(pa.string(), self.of(schema["values"], where, inside))
            case "enum":
                return pa.string()
            case "fixed":
                return pa.binary()
            case _:
                return self.of(kind, where, inside)

    def _by_name(self, name: str, where: str, inside: tuple[str, ...]) -> pa.DataType:
        if name in PRIMITIVES:
            return PRIMITIVES[name]
        if name in inside:
            raise BadSchema(f"{where} holds records of its own kind, {name}, without end")
        return self.of(self._named[name], where, inside)

    def _record(self, schema: Mapping[str, Any], where: str, inside: tuple[str, ...]) -> pa.DataType:
        fields = []
        for field in schema["fields"]:
            self._fields += 1
            if self._fields > FIELDS_MAX:
                raise BadSchema(
                    f"the Avro schema has more than {FIELDS_MAX:,} fields, with those of its parts"
                )
            place = field["name"] if where == "the record" else f"{where}.{field['name']}"
            kind = field["type"]
            may_be_null = isinstance(kind, list) and "null" in kind
            type_ = self.of(kind, place, (*inside, schema["name"]))
            fields.append(pa.field(field["name"], type_, nullable=may_be_null))
        return pa.struct(fields)

    def _union(self, schema: list[Any], where: str, inside: tuple[str, ...]) -> pa.DataType:
        kinds = [kind for kind in schema if kind != "null"]
        if len(kinds) != 1:
            raise BadSchema(f"{where} is a union of {len(kinds)} types, which Spark has no type for")
        return self.of(kinds[0], where, inside)
