"""The schema of rows, made from Spark's types, for a pipeline that registers what it writes.

Every field may be null and has null as its default, and a JSON object has no other fields: so columns that
are added later are compatible by BACKWARD, which is a registry's default.
"""

import json
import re
from typing import Any

from pyspark.sql import types as spark

from tidelog.registry.schema import Schema, SchemaType
from tidelog.spark.values.errors import BadSchema

AVRO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
AVRO: dict[type[spark.DataType], Any] = {
    spark.BooleanType: "boolean",
    spark.ByteType: "int",
    spark.ShortType: "int",
    spark.IntegerType: "int",
    spark.LongType: "long",
    spark.FloatType: "float",
    spark.DoubleType: "double",
    spark.BinaryType: "bytes",
    spark.DateType: {"type": "int", "logicalType": "date"},
    spark.TimestampType: {"type": "long", "logicalType": "timestamp-micros"},
    spark.TimestampNTZType: {"type": "long", "logicalType": "local-timestamp-micros"},
}
JSON: dict[type[spark.DataType], Any] = {
    spark.BooleanType: {"type": "boolean"},
    spark.ByteType: {"type": "integer"},
    spark.ShortType: {"type": "integer"},
    spark.IntegerType: {"type": "integer"},
    spark.LongType: {"type": "integer"},
    spark.FloatType: {"type": "number"},
    spark.DoubleType: {"type": "number"},
    spark.DecimalType: {"type": "number"},
    spark.BinaryType: {"type": "string", "contentEncoding": "base64"},
    spark.DateType: {"type": "string", "format": "date"},
    spark.TimestampType: {"type": "string", "format": "date-time"},
    spark.TimestampNTZType: {"type": "string"},
}
NULL = {"type": "null"}


def avro_schema_of(columns: spark.StructType, name: str) -> Schema:
    """BadSchema names the column that Avro cannot have."""
    return Schema(SchemaType.AVRO, json.dumps(_avro_record(columns, avro_name(name), ())))


def json_schema_of(columns: spark.StructType, name: str) -> Schema:
    whole = {"$schema": "http://json-schema.org/draft-07/schema#", "title": name, **_json(columns, "")}
    return Schema(SchemaType.JSON, json.dumps(whole))


def avro_name(text: str) -> str:
    """A topic's name as the name of a record: orders-checked -> orders_checked."""
    made = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return made if AVRO_NAME.match(made) else f"_{made}"


def _avro_record(columns: spark.StructType, name: str, path: tuple[str, ...]) -> dict[str, Any]:
    fields = []
    for field in columns.fields:
        place = (*path, field.name)
        if not AVRO_NAME.match(field.name):
            raise BadSchema(
                f"the column '{'.'.join(place)}' cannot be a field of Avro: letters, digits and '_', no digit"
                " first; a step can rename it"
            )
        kind = ["null", _avro(field.dataType, f"{name}_{field.name}", place)]
        fields.append({"name": field.name, "type": kind, "default": None})
    return {"type": "record", "name": name, "fields": fields}


def _avro(kind: spark.DataType, name: str, place: tuple[str, ...]) -> Any:
    if isinstance(kind, spark.StringType):
        return "string"
    if isinstance(kind, spark.DecimalType):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if isinstance(kind, spark.ArrayType):
        return {"type": "array", "items": ["null", _avro(kind.elementType, f"{name}_item", place)]}
    if isinstance(kind, spark.MapType) and isinstance(kind.keyType, spark.StringType):
        return {"type": "map", "values": ["null", _avro(kind.valueType, f"{name}_value", place)]}
    if isinstance(kind, spark.StructType):
        return _avro_record(kind, name, place)
    if type(kind) in AVRO:
        return AVRO[type(kind)]
    raise _no_type(kind, ".".join(place), "Avro")


def _json(kind: spark.DataType, place: str) -> dict[str, Any]:
    if isinstance(kind, spark.StructType):
        properties = {field.name: _json(field.dataType, f"{place}.{field.name}") for field in kind.fields}
        return {"type": "object", "properties": properties, "additionalProperties": False}
    if isinstance(kind, spark.StringType):
        return {"type": "string"}
    if isinstance(kind, spark.ArrayType):
        return {"type": "array", "items": {"oneOf": [NULL, _json(kind.elementType, place)]}}
    if isinstance(kind, spark.MapType):
        return {"type": "object", "additionalProperties": {"oneOf": [NULL, _json(kind.valueType, place)]}}
    if type(kind) in JSON:
        return dict(JSON[type(kind)])
    raise _no_type(kind, place.lstrip("."), "JSON Schema")


def _no_type(kind: spark.DataType, place: str, of: str) -> BadSchema:
    return BadSchema(f"the column '{place}' is {kind.simpleString()}, which {of} has no type for; cast it")
