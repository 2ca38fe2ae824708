"""Avro records of several versions as rows of one, and what stops a query instead."""

import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from tests.unit.spark.values.registered.fake_registry import OPTIONS, FakeRegistry
from tidelog.blocking.registry.errors import RegistryUnavailable
from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.registered.errors import IncompatibleSchema, SchemaChanged
from tidelog.spark.values.registered.reader import SubjectChoice
from tidelog.spark.values.udf import decode_array
from tidelog.spark.values.value_decoding import Decoding, registered_decoding

ID = {"name": "id", "type": "string"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}


def record(*fields: Any, name: str = "Order") -> str:
    return json.dumps({"type": "record", "name": name, "fields": list(fields)})


def value(schema_id: int, schema: str, row: dict[str, Any], *, named: dict[str, Any] | None = None) -> bytes:
    stream = io.BytesIO()
    stream.write(b"\0" + schema_id.to_bytes(4))
    fastavro.schemaless_writer(
        stream, fastavro.parse_schema(json.loads(schema), named_schemas=named or {}), row
    )
    return stream.getvalue()


def decoding(version: int | None = None) -> Decoding:
    return registered_decoding("avro", SubjectChoice(OPTIONS, "orders-value", version))


def rows(how: Decoding, *values: bytes | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = decode_array(pa.array(values, pa.binary()), how).to_pylist()
    return found


def decoded(how: Decoding, *values: bytes | None) -> list[Any]:
    return [row["decoded"] for row in rows(how, *values)]


def reasons(how: Decoding, *values: bytes | None) -> list[str]:
    return [row["reason"] for row in rows(how, *values)]


def test_old_records_get_null_in_new_columns(registry: FakeRegistry) -> None:
    old, new = record(ID), record(ID, NOTE)
    first, second = registry.add("orders-value", old), registry.add("orders-value", new)
    found = decoded(decoding(), value(first, old, {"id": "a"}), value(second, new, {"id": "b", "note": "!"}))
    assert found == [{"id": "a", "note": None}, {"id": "b", "note": "!"}]


def test_each_id_is_asked_for_once(registry: FakeRegistry) -> None:
    old, new = record(ID), record(ID, NOTE)
    first, second = registry.add("orders-value", old), registry.add("orders-value", new)
    how = decoding()
    registry.asked.clear()
    for _ in range(3):
        rows(how, value(first, old, {"id": "a"}), value(second, new, {"id": "b", "note": None}))
    assert registry.asked == [("schemas", "ids", first), ("schemas", "ids", first, "versions")]


def test_defaults_are_values_of_their_type(registry: FakeRegistry) -> None:
    at = {
        "name": "at",
        "type": {"type": "long", "logicalType": "timestamp-millis"},
        "default": 1_700_000_000_000,
    }
    price = {
        "name": "price",
        "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
        "default": "\u0003\u00e8",
    }
    mark = {"name": "mark", "type": "bytes", "default": "\u00ff"}
    old = record(ID)
    first = registry.add("orders-value", old)
    registry.add("orders-value", record(ID, at, price, mark))
    assert decoded(decoding(), value(first, old, {"id": "a"})) == [
        {
            "id": "a",
            "at": datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
            "price": Decimal("10.00"),
            "mark": b"\xff",
        }
    ]


def test_a_newer_version_stops_the_query_before_anything_is_lost(registry: FakeRegistry) -> None:
    registry.add("orders-value", record(ID))
    how = decoding()
    new = record(ID, NOTE)
    newer = value(registry.add("orders-value", new), new, {"id": "b", "note": "!"})
    with pytest.raises(SchemaChanged, match="orders-value has version 2 after 1"):
        rows(how, newer)
    assert decoded(decoding(), newer) == [{"id": "b", "note": "!"}]


def test_a_named_version_stays_what_records_are_read_as(registry: FakeRegistry) -> None:
    registry.add("orders-value", record(ID))
    new = record(ID, NOTE)
    newer = value(registry.add("orders-value", new), new, {"id": "b", "note": "!"})
    assert decoded(decoding(version=1), newer) == [{"id": "b"}]


def test_a_newer_version_that_was_deleted_starts_nothing_again(registry: FakeRegistry) -> None:
    registry.add("orders-value", record(ID))
    new = record(ID, NOTE)
    newer = value(registry.add("orders-value", new), new, {"id": "b", "note": "!"})
    registry.deleted.add(("orders-value", 2))
    assert decoded(decoding(), newer) == [{"id": "b"}]


def test_an_incompatible_version_stops_the_query(registry: FakeRegistry) -> None:
    old = record({"name": "id", "type": "long"})
    first = registry.add("orders-value", old)
    registry.add("orders-value", record(ID))
    older = value(first, old, {"id": 1})
    with pytest.raises(IncompatibleSchema, match="version 2 of orders-value cannot read records of version"):
        rows(decoding(), older)
    [reason] = reasons(decoding(version=2), older)
    assert reason.startswith("version 2 of orders-value cannot read records of version 1 (schema 1): ")


def test_a_number_that_became_a_time_is_not_misread(registry: FakeRegistry) -> None:
    plain = record({"name": "at", "type": "long"})
    timed = record({"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}})
    first = registry.add("orders-value", plain)
    registry.add("orders-value", timed)
    with pytest.raises(IncompatibleSchema, match="field at is timestamp in the one and a plain long in"):
        rows(decoding(), value(first, plain, {"at": 1_700_000_000_000}))


def test_a_time_may_change_its_unit(registry: FakeRegistry) -> None:
    millis = record({"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}})
    micros = record({"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}})
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    first = registry.add("orders-value", millis)
    registry.add("orders-value", micros)
    assert decoded(decoding(), value(first, millis, {"at": at})) == [{"at": at}]


def test_bad_values_have_their_reasons_and_leave_the_others_alone(registry: FakeRegistry) -> None:
    schema = record(ID)
    own = registry.add("orders-value", schema)
    other = registry.add("payments-value", record({"name": "cents", "type": "int"}, name="Payment"))
    good = value(own, schema, {"id": "a"})
    assert reasons(
        decoding(),
        good,
        good[5:],
        b"\1" + good[1:],
        good[:4],
        b"\0\0\0\0\x63!",
        b"\0\0\0\0" + bytes([other]),
        None,
    ) == [
        None,
        "no schema registry header: a zero byte and a schema's number",
        "no schema registry header: a zero byte and a schema's number",
        "no schema registry header: a zero byte and a schema's number",
        "the schema registry has no schema 99",
        "schema 2 is not of the subject orders-value; its subjects: payments-value",
        "there is no value",
    ]


def test_an_unknown_id_is_not_asked_for_at_every_record(registry: FakeRegistry) -> None:
    registry.add("orders-value", record(ID))
    how = decoding()
    registry.asked.clear()
    rows(how, *[b"\0\0\0\0\x63!"] * 100)
    assert registry.asked == [("schemas", "ids", 99)]


def test_without_a_registry_the_query_fails_and_drops_nothing(registry: FakeRegistry) -> None:
    old = record(ID)
    first = registry.add("orders-value", old)
    registry.add("orders-value", record(ID, NOTE))
    how = decoding()
    registry.is_down = True
    with pytest.raises(RegistryUnavailable):
        rows(how, value(first, old, {"id": "a"}))
    with pytest.raises(BadSchema, match="the subject 'orders-value' cannot be read: no schema registry"):
        decoding()


def test_schemas_that_refer_to_others(registry: FakeRegistry) -> None:
    address = record({"name": "city", "type": "string"}, name="shop.Address")
    registry.add("address", address)
    order = record(ID, {"name": "to", "type": "shop.Address"}, name="shop.Order")
    reference = {"name": "shop.Address", "subject": "address", "version": 1}
    own = registry.add("orders-value", order, references=(reference,))
    named: dict[str, Any] = {}
    fastavro.parse_schema(json.loads(address), named_schemas=named)
    row = {"id": "a", "to": {"city": "Bonn"}}
    assert decoded(decoding(), value(own, order, row, named=named)) == [row]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (record({"name": "next", "type": ["null", "Order"]}), "next holds records of its own kind, Order"),
        (record({"name": "x", "type": ["int", "string"]}), "x is a union of 2 types"),
        ('"string"', "has to be a record at its top"),
    ],
)
def test_what_spark_cannot_show_is_said_before_anything_runs(
    registry: FakeRegistry, schema: str, said: str
) -> None:
    registry.add("orders-value", schema)
    with pytest.raises(BadSchema, match=said):
        rows(decoding())


def test_records_that_each_hold_the_next_twice(registry: FakeRegistry) -> None:
    inner: Any = "int"
    for number in range(40):
        fields = [{"name": "a", "type": inner}, {"name": "b", "type": f"R{number - 1}" if number else "int"}]
        inner = {"type": "record", "name": f"R{number}", "fields": fields}
    registry.add("orders-value", json.dumps(inner))
    with pytest.raises(BadSchema, match="more than 10,000 fields"):
        rows(decoding())


def test_the_subject_is_of_another_kind_or_not_there(registry: FakeRegistry) -> None:
    with pytest.raises(BadSchema, match="the schema registry has no subject 'orders-value'"):
        decoding()
    registry.add("orders-value", '{"type": "object"}', "JSON")
    with pytest.raises(BadSchema, match="version 1 of orders-value is json, and not avro"):
        decoding()
    with pytest.raises(BadSchema, match="has no version 7 of subject"):
        decoding(version=7)


def inner(*fields: Any) -> dict[str, Any]:
    return {"name": "to", "type": {"type": "record", "name": "Address", "fields": list(fields)}}


@pytest.mark.parametrize(
    ("before", "row", "now", "wanted"),
    [
        ([{"name": "n", "type": "int"}], {"n": 1}, [{"name": "n", "type": "long"}], {"n": 1}),
        ([ID, NOTE], {"id": "a", "note": "!"}, [ID], {"id": "a"}),
        (
            [ID],
            {"id": "a"},
            [ID, {"name": "vip", "type": "boolean", "default": True}],
            {"id": "a", "vip": True},
        ),
        ([inner(ID)], {"to": {"id": "a"}}, [inner(ID, NOTE)], {"to": {"id": "a", "note": None}}),
        (
            [ID],
            {"id": "a"},
            [{"name": "key", "type": "string", "aliases": ["id"], "default": "?"}],
            {"key": "a"},
        ),
        (
            [{"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}}],
            {"e": "B"},
            [{"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A"], "default": "A"}}],
            {"e": "A"},
        ),
    ],
    ids=["wider", "gone", "with a default", "inside", "another name", "a symbol less"],
)
def test_rows_are_made_by_avros_rules(
    registry: FakeRegistry, before: list[Any], row: dict[str, Any], now: list[Any], wanted: dict[str, Any]
) -> None:
    old = record(*before)
    first = registry.add("orders-value", old)
    registry.add("orders-value", record(*now))
    assert decoded(decoding(), value(first, old, row)) == [wanted]


def test_a_subject_in_a_context_of_its_own(registry: FakeRegistry) -> None:
    subject, old = ":.test:orders-value", record(ID)
    first = registry.add(subject, old)
    registry.add(subject, record(ID, NOTE))
    how = registered_decoding("avro", SubjectChoice(OPTIONS, subject))
    assert decoded(how, value(first, old, {"id": "a"})) == [{"id": "a", "note": None}]
