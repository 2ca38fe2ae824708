"""Spark's column types as Arrow's, in the plain form that `schema.py` compares.

PySpark has such a table too, but a private one, whose arguments change between versions.
"""

import pyarrow as pa
from pyspark.sql import types as spark

from tidelog.spark.lake.errors import SchemaMismatch
from tidelog.spark.lake.schema import MICROSECONDS_UTC

SIMPLE: dict[type[spark.DataType], pa.DataType] = {
    spark.BinaryType: pa.binary(),
    spark.BooleanType: pa.bool_(),
    spark.ByteType: pa.int8(),
    spark.ShortType: pa.int16(),
    spark.IntegerType: pa.int32(),
    spark.LongType: pa.int64(),
    spark.FloatType: pa.float32(),
    spark.DoubleType: pa.float64(),
    spark.DateType: pa.date32(),
    spark.TimestampType: MICROSECONDS_UTC,
    spark.TimestampNTZType: pa.timestamp("us"),
}


def arrow_schema(schema: spark.StructType) -> pa.Schema:
    """Raises where a column has a type that tables do not keep."""
    return pa.schema(
        [_field(field.name, field.name, field.dataType, field.nullable) for field in schema.fields]
    )


def _field(name: str, path: str, kind: spark.DataType, is_nullable: bool) -> pa.Field:
    return pa.field(name, _arrow_type(path, kind), is_nullable)


def _arrow_type(path: str, kind: spark.DataType) -> pa.DataType:
    if type(kind) in SIMPLE:
        return SIMPLE[type(kind)]
    if isinstance(kind, spark.StringType):  # and its kin of limited length
        return pa.string()
    if isinstance(kind, spark.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, spark.ArrayType):
        return pa.list_(_field("element", f"{path}[]", kind.elementType, kind.containsNull))
    if isinstance(kind, spark.MapType):
        item = _field("value", f"{path}.value", kind.valueType, kind.valueContainsNull)
        return pa.map_(_arrow_type(f"{path}.key", kind.keyType), item)
    if isinstance(kind, spark.StructType):
        fields = (
            _field(part.name, f"{path}.{part.name}", part.dataType, part.nullable) for part in kind.fields
        )
        return pa.struct(list(fields))
    hint = f"give it one, such as CAST({path} AS STRING)" if isinstance(kind, spark.NullType) else "cast it"
    raise SchemaMismatch(f"column {path} is {kind.simpleString()}, a type that tables do not keep; {hint}")
