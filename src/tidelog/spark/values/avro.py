"""Avro values as Arrow: the types of a schema, and each record as a dict that Arrow takes.

A union of null and one type is a nullable column. Spark has no type for any other union, for a record that
holds itself, or for a time of day, so these are refused when the schema is read, with the field's name.
"""

import io
import json
from collections.abc import Mapping
from typing import Any

import fastavro
import pyarrow as pa

from tidelog.spark.values.errors import BadSchema, BadValue

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


class AvroValues:
    """Decodes values that were written with this very schema."""

    def __init__(self, schema: str) -> None:
        try:
            self._schema = fastavro.parse_schema(json.loads(schema))
        except (ValueError, KeyError, fastavro.schema.SchemaParseException) as error:
            raise BadSchema(f"the Avro schema is not valid: {error}") from error
        self._named: dict[str, Mapping[str, Any]] = {}
        self.type = self._arrow(self._schema, "the record", ())
        if not pa.types.is_struct(self.type):
            raise BadSchema("the Avro schema has to be a record at its top")

    def decode(self, value: bytes) -> dict[str, Any]:
        stream = io.BytesIO(value)
        try:
            record = fastavro.schemaless_reader(stream, self._schema, None)
        except Exception as error:  # fastavro lets many kinds through: EOFError, IndexError, UnicodeError, …
            raise BadValue(f"not Avro of the schema: {error or type(error).__name__}") from error
        left = len(value) - stream.tell()
        if left:
            raise BadValue(f"not Avro of the schema: {left} bytes are left over")
        return _plain(record)  # type: ignore[no-any-return]

    @property
    def required(self) -> list[str]:
        return [field["name"] for field in self._fields if "default" not in field]

    @property
    def path(self) -> list[int]:
        return []

    def encode(self, row: Mapping[str, Any]) -> bytes:
        for field in self._fields:
            name = field["name"]
            if name in row and row[name] is None and not self.type.field(name).nullable:
                raise BadValue(f"field {name} is null, and the Avro schema does not let it be")
        stream = io.BytesIO()
        try:
            fastavro.schemaless_writer(stream, self._schema, _for_avro(dict(row), self.type))
        except (
            Exception
        ) as error:  # fastavro lets many kinds through: ValueError, TypeError, OverflowError, …
            raise BadValue(
                f"the row does not fit the Avro schema: {error or type(error).__name__}"
            ) from error
        return stream.getvalue()

    @property
    def _fields(self) -> list[Mapping[str, Any]]:
        schema: Any = self._schema
        fields: list[Mapping[str, Any]] = schema["fields"]
        return fields

    def _arrow(self, schema: Any, where: str, inside: tuple[str, ...]) -> pa.DataType:
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
        if (kind, logical) in LOGICAL:
            return LOGICAL[kind, logical]
        match kind:
            case "record" | "error":
                return self._record(schema, where, inside)
            case "array":
                return pa.list_(self._arrow(schema["items"], where, inside))
            case "map":
                return pa.map_(pa.string(), self._arrow(schema["values"], where, inside))
            case "enum":
                self._named[schema["name"]] = schema
                return pa.string()
            case "fixed":
                self._named[schema["name"]] = schema
                return pa.binary()
            case _:
                return self._arrow(kind, where, inside)

    def _by_name(self, name: str, where: str, inside: tuple[str, ...]) -> pa.DataType:
        if name in PRIMITIVES:
            return PRIMITIVES[name]
        if name in inside:
            raise BadSchema(f"{where} holds records of its own kind, {name}, without end")
        return self._arrow(self._named[name], where, inside)

    def _record(self, schema: Mapping[str, Any], where: str, inside: tuple[str, ...]) -> pa.DataType:
        name = schema["name"]
        self._named[name] = schema
        fields = []
        for field in schema["fields"]:
            place = field["name"] if where == "the record" else f"{where}.{field['name']}"
            kind = field["type"]
            may_be_null = isinstance(kind, list) and "null" in kind
            fields.append(
                pa.field(field["name"], self._arrow(kind, place, (*inside, name)), nullable=may_be_null)
            )
        return pa.struct(fields)

    def _union(self, schema: list[Any], where: str, inside: tuple[str, ...]) -> pa.DataType:
        kinds = [kind for kind in schema if kind != "null"]
        if len(kinds) != 1:
            raise BadSchema(f"{where} is a union of {len(kinds)} types, which Spark has no type for")
        return self._arrow(kinds[0], where, inside)


def _for_avro(value: Any, kind: pa.DataType) -> Any:
    """What Arrow gives, but for maps, which it gives as pairs."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {name: _for_avro(inner, kind.field(name).type) for name, inner in value.items()}
    if pa.types.is_map(kind):
        return {key: _for_avro(inner, kind.item_type) for key, inner in value}
    if pa.types.is_list(kind):
        return [_for_avro(inner, kind.value_type) for inner in value]
    return value


def _plain(value: Any) -> Any:
    """Arrow takes what fastavro makes of logical types, but for UUIDs, and maps as pairs."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return str(value) if type(value).__name__ == "UUID" else value
