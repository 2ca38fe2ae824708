"""Avro values in Arrow and back: each record as a dict that Arrow takes.

A value is read with the schema that it was written with, and becomes a row of this schema, by Avro's rules: a
field that the writer did not know gets its default, and a field that this schema does not know is left out.
"""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import fastavro
import pyarrow as pa

from tidelog.registry.schema import Dependencies
from tidelog.spark.values.avro_types import AvroTypes
from tidelog.spark.values.errors import BadSchema, BadValue


class AvroValues:
    def __init__(self, schema: str, dependencies: Dependencies = ()) -> None:
        self.schema = parsed_avro(schema, dependencies)
        if not isinstance(self.schema, dict) or self.schema.get("type") not in ("record", "error"):
            raise BadSchema("the Avro schema has to be a record at its top")
        self.named: Mapping[str, Any] = self.schema["__named_schemas"]
        types = AvroTypes(self.named)
        self.type = types.of(self.schema)
        self._has_uuids = types.has_uuids
        self.decode = self.decoder_of(self.schema)

    def decoder(self, writer: Any) -> Callable[[bytes], dict[str, Any]]:
        """For values that were written with another schema, resolved to this one."""
        return self._decoder(writer, self.schema)

    def decoder_of(self, writer: Any) -> Callable[[bytes], dict[str, Any]]:
        """For values that were written with a schema, with all fields as it has them."""
        return self._decoder(writer, None)

    def _decoder(self, written: Any, reader: Any) -> Callable[[bytes], dict[str, Any]]:
        has_uuids = self._has_uuids

        def decode(value: bytes) -> dict[str, Any]:
            stream = io.BytesIO(value)
            try:
                record: Any = fastavro.schemaless_reader(stream, written, reader)
            except Exception as error:  # fastavro lets many kinds through: EOFError, IndexError, …
                raise BadValue(f"not Avro of the schema: {error or type(error).__name__}") from error
            left = len(value) - stream.tell()
            if left:
                raise BadValue(f"not Avro of the schema: {left} bytes are left over")
            return _plain(record) if has_uuids else record  # type: ignore[no-any-return]

        return decode

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
            fastavro.schemaless_writer(stream, self.schema, _for_avro(dict(row), self.type))
        except (
            Exception
        ) as error:  # fastavro lets many kinds through: ValueError, TypeError, OverflowError, …
            raise BadValue(
                f"the row does not fit the Avro schema: {error or type(error).__name__}"
            ) from error
        return stream.getvalue()

    @property
    def _fields(self) -> list[Mapping[str, Any]]:
        fields: list[Mapping[str, Any]] = self.schema["fields"]
        return fields


def parsed_avro(schema: str, dependencies: Dependencies = ()) -> Any:
    """As fastavro reads and writes with it. BadSchema says what is wrong."""
    named: dict[str, Any] = {}
    try:
        for dependency in dependencies:
            fastavro.parse_schema(json.loads(dependency.text), named_schemas=named)
        return fastavro.parse_schema(json.loads(schema), named_schemas=named)
    except (ValueError, KeyError, TypeError, fastavro.schema.SchemaParseException) as error:
        raise BadSchema(f"the Avro schema is not valid: {error}") from error
    except RecursionError as error:
        raise BadSchema("the Avro schema is nested too deep") from error


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
