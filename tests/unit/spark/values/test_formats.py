"""Avro and Protobuf values in Arrow and back, and each value that does not decode with its reason."""

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

from tidelog.spark.values.errors import BadSchema, BadValue
from tidelog.spark.values.formats import values_of
from tidelog.spark.values.udf import decode_array
from tidelog.spark.values.value_decoding import Decoding, Framing, Kind, load_decoding
from tidelog.spark.values.value_encoding import Encoding, fields_of

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
AVRO: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "tags", "type": {"type": "map", "values": "int"}},
        {"name": "note", "type": ["null", "string"]},
    ],
}
ORDER = {"id": "a", "at": AT, "price": Decimal("9.50"), "tags": {"x": 1}, "note": None}


def avro_bytes(record: dict[str, Any] = ORDER) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(AVRO), record)
    return stream.getvalue()


def decode(decoding: Decoding, *values: bytes | None) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = decode_array(pa.array(values, pa.binary()), decoding).to_pylist()
    return rows


def test_avro_with_logical_types() -> None:
    [row] = decode(load_decoding("avro", schema=json.dumps(AVRO)), avro_bytes())
    assert row == {"decoded": {**ORDER, "tags": [("x", 1)]}, "reason": None}


def test_one_bad_avro_value_leaves_the_others_alone() -> None:
    good = avro_bytes()
    rows = decode(load_decoding("avro", schema=json.dumps(AVRO)), good, b"\xff", None, good + b"!", good)
    assert [row["decoded"] is not None for row in rows] == [True, False, False, False, True]
    assert rows[2]["reason"] == "there is no value"
    assert rows[3]["reason"] == "not Avro of the schema: 1 bytes are left over"


def test_the_header_of_a_schema_registry() -> None:
    decoding = load_decoding("avro", schema=json.dumps(AVRO), framing="confluent")
    rows = decode(decoding, b"\0\0\0\0\7" + avro_bytes(), avro_bytes())
    assert rows[0]["reason"] is None
    assert rows[1]["reason"] == "no schema registry header: a zero byte and a schema's number"


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (["null", "int", "string"], "x is a union of 2 types"),
        ({"type": "int", "logicalType": "time-millis"}, "x is a time of day"),
        ("Node", "holds records of its own kind"),
    ],
)
def test_what_spark_has_no_type_for_is_said_at_once(field: Any, said: str) -> None:
    schema = {"type": "record", "name": "Node", "fields": [{"name": "x", "type": field}]}
    with pytest.raises(BadSchema, match=said):
        decode(Decoding(Kind.AVRO, json.dumps(schema)))


def proto_files() -> descriptor_pb2.FileDescriptorSet:
    """message Item { string name = 1; } and a message Order that has a bit of everything."""
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="shop.proto", package="shop", syntax="proto3", dependency=["google/protobuf/timestamp.proto"]
    )
    state = file.enum_type.add(name="State")
    for number, name in enumerate(("OPEN", "PAID")):
        state.value.add(name=name, number=number)
    item = file.message_type.add(name="Item")
    item.field.add(name="name", number=1, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL)
    order = file.message_type.add(name="Order")
    one, many = kinds.LABEL_OPTIONAL, kinds.LABEL_REPEATED
    order.field.add(name="id", number=1, type=kinds.TYPE_STRING, label=one)
    order.field.add(name="state", number=2, type=kinds.TYPE_ENUM, type_name=".shop.State", label=one)
    order.field.add(name="items", number=3, type=kinds.TYPE_MESSAGE, type_name=".shop.Item", label=many)
    stamp = ".google.protobuf.Timestamp"
    order.field.add(name="at", number=4, type=kinds.TYPE_MESSAGE, type_name=stamp, label=one)
    order.field.add(name="big", number=5, type=kinds.TYPE_UINT64, label=one)
    order.field.add(name="gift", number=6, type=kinds.TYPE_MESSAGE, type_name=".shop.Item", label=one)
    stamps = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamps)
    return descriptor_pb2.FileDescriptorSet(file=[stamps, file])


def proto_bytes() -> bytes:
    pool = descriptor_pool.DescriptorPool()
    for file in proto_files().file:
        pool.Add(file)
    order: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))()
    order.id, order.state, order.big = "a", 1, 2**64 - 1
    order.items.add().name = "shoe"
    order.at.FromDatetime(AT)
    return bytes(order.SerializeToString())


@pytest.fixture
def descriptors(tmp_path: Path) -> Path:
    file = tmp_path / "shop.binpb"
    file.write_bytes(proto_files().SerializeToString())
    return file


def test_protobuf_by_a_descriptor_set(descriptors: Path) -> None:
    decoding = load_decoding(
        "protobuf", schema=descriptors.name, message="shop.Order", directory=descriptors.parent
    )
    rows = decode(decoding, proto_bytes(), b"\x0a\xff")
    assert rows[0]["decoded"] == {
        "id": "a",
        "state": "PAID",
        "items": [{"name": "shoe"}],
        "at": AT,
        "big": Decimal(2**64 - 1),
        "gift": None,
    }
    assert rows[1]["decoded"] is None
    assert rows[1]["reason"].startswith("not Protobuf of the message")


def test_protobuf_of_a_schema_registry(descriptors: Path) -> None:
    decoding = Decoding(
        Kind.PROTOBUF,
        descriptors=descriptors.read_bytes(),
        message="shop.Order",
        framing=Framing.CONFLUENT,
    )
    header = b"\0\0\0\0\7"
    rows = decode(decoding, header + b"\x00" + proto_bytes(), header + b"\x02\x02" + proto_bytes(), header)
    assert [row["reason"] for row in rows] == [None, None, "the schema registry header is cut short"]


def test_a_row_is_written_as_it_is_read(descriptors: Path) -> None:
    avro = load_decoding("avro", schema=json.dumps(AVRO), framing="confluent")
    shop = load_decoding("protobuf", schema=str(descriptors), message="shop.Order", framing="confluent")
    for decoding, value, head in (
        (avro, avro_bytes(), b"\0\0\0\1\7"),
        (shop, proto_bytes(), b"\0\0\0\1\7\2\2"),  # the second message of the file
    ):
        codec = values_of(decoding)
        [row] = decode(replace(decoding, framing=Framing.NONE), value)
        assert codec.encode(row["decoded"]) == value
        assert Encoding(decoding, 263).header(codec.path) == head
        assert Encoding(replace(decoding, framing=Framing.NONE)).header(codec.path) == b""
    assert Encoding(shop, 263).header([0]) == b"\0\0\0\1\7\0"


def test_rows_that_do_not_fit(descriptors: Path) -> None:
    avro = values_of(load_decoding("avro", schema=json.dumps(AVRO)))
    with pytest.raises(BadValue, match="field id is null, and the Avro schema does not let it be"):
        avro.encode({**ORDER, "id": None, "tags": []})
    with pytest.raises(BadValue, match="the row does not fit the Avro schema"):
        avro.encode({**ORDER, "id": 5, "tags": []})
    shop = values_of(load_decoding("protobuf", schema=str(descriptors), message="shop.Order"))
    with pytest.raises(BadValue, match="'LOST' is no State; there are OPEN, PAID"):
        shop.encode({"state": "LOST"})
    with pytest.raises(BadValue, match="the row does not fit the Protobuf message"):
        shop.encode({"big": -1})


def test_which_columns_become_fields() -> None:
    encoding = Encoding(load_decoding("avro", schema=json.dumps(AVRO)))
    columns = ["note", "tags", "price", "at", "id", "_offset"]
    assert fields_of(encoding, columns) == ["id", "at", "price", "tags", "note"]
    assert fields_of(encoding, [*columns, "shop"], unused=["shop"]) == ["id", "at", "price", "tags", "note"]
    with pytest.raises(BadSchema, match=r"field 'price' has to be there, .*; did you mean 'prices'"):
        fields_of(encoding, ["id", "at", "prices", "tags", "note"])
    with pytest.raises(BadSchema, match="no field for the column 'notes'; did you mean 'note'"):
        fields_of(encoding, [*columns, "notes"])


def test_a_message_that_is_not_there_is_named_with_those_that_are(descriptors: Path) -> None:
    with pytest.raises(BadSchema, match=r"no message shop\.Ordr; there are .*shop\.Item, shop\.Order"):
        decode(Decoding(Kind.PROTOBUF, descriptors=descriptors.read_bytes(), message="shop.Ordr"), b"")


@pytest.mark.parametrize(
    ("kind", "keys", "said"),
    [
        ("json", {}, "JSON needs a schema"),
        ("avro", {}, "Avro needs a schema"),
        ("avro", {"schema": "none.avsc"}, r"cannot read .*none\.avsc: No such file"),
        ("protobuf", {"schema": "x"}, "and the message's name"),
    ],
)
def test_what_is_missing_is_said(kind: str, keys: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(BadSchema, match=said):
        load_decoding(kind, directory=tmp_path, **keys)  # type: ignore[arg-type]
