"""Schemas of what a pipeline writes: made from columns, registered, or only tried."""

import json
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from pyspark.sql import types as spark

from tests.unit.spark.values.registered.fake_registry import OPTIONS, FakeRegistry
from tidelog.registry.parsed import parse
from tidelog.spark.values.avro import AvroValues
from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.registered.derived import avro_schema_of, json_schema_of
from tidelog.spark.values.registered.reader import SubjectChoice
from tidelog.spark.values.registered.registering import protobuf_schema_of, registered_id

CHOICE = SubjectChoice(OPTIONS, "sums-value")
INNER = spark.StructType().add("x", spark.DoubleType())
ALL = (
    spark.StructType()
    .add("country", spark.StringType())
    .add("count", spark.LongType())
    .add("price", spark.DecimalType(9, 2))
    .add("at", spark.TimestampType())
    .add("day", spark.DateType())
    .add("raw", spark.BinaryType())
    .add("tags", spark.ArrayType(spark.StringType()))
    .add("by", spark.MapType(spark.StringType(), INNER))
    .add("inner", INNER)
)


def test_avro_of_columns_is_what_reads_them_again() -> None:
    from pyspark.sql.pandas.types import from_arrow_type

    values = AvroValues(avro_schema_of(ALL, "sums-per-minute").text)
    found = from_arrow_type(values.type)
    assert isinstance(found, spark.StructType)
    assert found.simpleString() == ALL.simpleString()
    row = {"country": "DE", "count": 1, "tags": ["a", None], "by": [("k", {"x": 1.5})], "inner": None}
    assert values.decode(values.encode(row))["by"] == {"k": {"x": 1.5}}
    assert values.schema["name"] == "sums_per_minute"


def test_json_of_columns() -> None:
    whole = json.loads(json_schema_of(ALL, "sums").text)
    assert whole["properties"]["at"] == {"type": "string", "format": "date-time"}
    assert whole["properties"]["inner"]["additionalProperties"] is False
    assert whole["properties"]["tags"]["items"] == {"oneOf": [{"type": "null"}, {"type": "string"}]}


@pytest.mark.parametrize("make", [avro_schema_of, json_schema_of])
def test_a_column_more_is_compatible(make: Any) -> None:
    old, new = make(INNER, "s"), make(spark.StructType([*INNER.fields, *ALL.fields]), "s")
    assert parse(new.type, new.text).incompatibilities(parse(old.type, old.text)) == []


def test_columns_that_avro_cannot_have() -> None:
    with pytest.raises(BadSchema, match="the column 'a b' cannot be a field of Avro"):
        avro_schema_of(spark.StructType().add("a b", spark.LongType()), "s")
    numbers = spark.MapType(spark.LongType(), spark.LongType())
    with pytest.raises(BadSchema, match=r"the column 'm' is map<bigint,bigint>, which Avro has no type for"):
        avro_schema_of(spark.StructType().add("m", numbers), "s")


def test_a_schema_is_registered_once(registry: FakeRegistry) -> None:
    schema = avro_schema_of(INNER, "sums")
    first = registered_id(CHOICE, schema, may_register=True)
    assert registered_id(CHOICE, schema, may_register=True) == first
    assert list(registry.subjects["sums-value"].values()) == [first]


def test_a_plan_registers_nothing(registry: FakeRegistry) -> None:
    schema = avro_schema_of(INNER, "sums")
    assert registered_id(CHOICE, schema, may_register=False) is None
    assert registry.subjects == {}
    known = registered_id(CHOICE, schema, may_register=True)
    assert registered_id(CHOICE, schema, may_register=False) == known


@pytest.mark.parametrize("may_register", [True, False])
def test_rows_that_do_not_fit_the_versions_before(registry: FakeRegistry, may_register: bool) -> None:
    registered_id(CHOICE, avro_schema_of(INNER, "sums"), may_register=True)
    other = avro_schema_of(spark.StructType().add("x", spark.StringType()), "sums")
    with pytest.raises(BadSchema, match="do not fit the earlier versions of sums-value"):
        registered_id(CHOICE, other, may_register=may_register)
    assert len(registry.schemas) == 1


def test_the_registry_does_not_answer(registry: FakeRegistry) -> None:
    registry.is_down = True
    with pytest.raises(BadSchema, match="cannot be registered: no schema registry answers"):
        registered_id(CHOICE, avro_schema_of(INNER, "sums"), may_register=True)


def test_a_descriptor_set_with_imports_of_its_own() -> None:
    files = descriptor_pb2.FileDescriptorSet()
    files.file.add(name="a.proto", package="shop").message_type.add(name="Item")
    order = files.file.add(name="b.proto", package="shop", dependency=["a.proto"])
    order.message_type.add(name="Order").nested_type.add(name="Line")
    with pytest.raises(BadSchema, match=r"b.proto imports a.proto: register both"):
        protobuf_schema_of(files.SerializeToString(), "shop.Order.Line")
    assert protobuf_schema_of(files.SerializeToString(), "shop.Item").text
