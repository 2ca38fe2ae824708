"""Protobuf records of several versions as rows of one message."""

from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pool, message_factory

from tests.unit.spark.values.registered.fake_registry import OPTIONS, FakeRegistry
from tidelog.blocking.registry.framing import indexes_bytes, prefix
from tidelog.blocking.registry.protobuf_codec import file_in
from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.registered.errors import IncompatibleSchema, SchemaChanged
from tidelog.spark.values.registered.reader import SubjectChoice
from tidelog.spark.values.udf import decode_array
from tidelog.spark.values.value_decoding import Decoding, registered_decoding

OLD = 'syntax = "proto3"; package shop; message Order { string id = 1; } message Other { int32 x = 1; }'
NEW = OLD.replace("id = 1;", "id = 1; optional string note = 2; repeated int32 sizes = 3;")


def message(text: str, name: str = "shop.Order", **fields: Any) -> bytes:
    pool = descriptor_pool.DescriptorPool()
    file_in(pool, text, ())
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))(**fields)
    return bytes(made.SerializeToString())


def decoding(message: str | None = None) -> Decoding:
    return registered_decoding("protobuf", SubjectChoice(OPTIONS, "orders-value"), message)


def rows(how: Decoding, *values: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = decode_array(pa.array(values, pa.binary()), how).to_pylist()
    return found


def test_versions_before_and_the_newest(registry: FakeRegistry) -> None:
    first, second = (registry.add("orders-value", text, "PROTOBUF") for text in (OLD, NEW))
    old = prefix(first) + indexes_bytes([0]) + message(OLD, id="a")
    new = prefix(second) + indexes_bytes([0]) + message(NEW, id="b", note="!", sizes=[1, 2])
    assert [row["decoded"] for row in rows(decoding(), old, new)] == [
        {"id": "a", "note": None, "sizes": []},
        {"id": "b", "note": "!", "sizes": [1, 2]},
    ]


def test_a_newer_version_stops_the_query(registry: FakeRegistry) -> None:
    registry.add("orders-value", OLD, "PROTOBUF")
    how = decoding()
    newer = prefix(registry.add("orders-value", NEW, "PROTOBUF")) + b"\0" + message(NEW, id="b")
    with pytest.raises(SchemaChanged):
        rows(how, newer)


def test_a_field_that_became_another_type(registry: FakeRegistry) -> None:
    first = registry.add("orders-value", OLD, "PROTOBUF")
    registry.add("orders-value", OLD.replace("string id", "double id"), "PROTOBUF")
    with pytest.raises(IncompatibleSchema, match="version 2 of orders-value cannot read records of version"):
        rows(decoding(), prefix(first) + b"\0" + message(OLD, id="a"))


def test_other_messages_and_broken_ones(registry: FakeRegistry) -> None:
    own = prefix(registry.add("orders-value", OLD, "PROTOBUF"))
    other = own + indexes_bytes([1]) + message(OLD, "shop.Other", x=7)
    values = (other, own + indexes_bytes([9]), own + b"\x80", own + b"\0\xff")
    reasons = [row["reason"] for row in rows(decoding(), *values)]
    assert reasons[0] == "it is a message shop.Other, and not shop.Order"
    assert reasons[1] == "it is a message (9,), and not shop.Order"
    assert reasons[2] == "its message indexes are not whole"
    assert reasons[3].startswith("not Protobuf of the message: ")
    assert rows(decoding("shop.Other"), other)[0]["decoded"] == {"x": 7}


def test_a_message_that_is_not_there(registry: FakeRegistry) -> None:
    registry.add("orders-value", OLD, "PROTOBUF")
    with pytest.raises(BadSchema, match=r"no message shop.Thing; there are shop.Order, shop.Other"):
        rows(decoding("shop.Thing"))
