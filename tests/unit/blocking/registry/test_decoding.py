"""Records of each kind as Python values, and bytes that are none."""

import sys
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.blocking.registry.scripted_http import A, Answer, ScriptedHttp, refused
from tidelog.blocking.registry.codecs import codec_of
from tidelog.blocking.registry.decoding import UNKNOWN_S, RecordDecoder
from tidelog.blocking.registry.errors import (
    PackageMissing,
    RegistryRefused,
    UndecodableRecord,
    UnencodableValue,
)
from tidelog.blocking.registry.framing import Framed, indexes_bytes, prefix
from tidelog.registry.parsed import SchemaError
from tidelog.registry.schema import Dependency, Schema, SchemaType

ORDER = (
    '{"type":"record","name":"Order","fields":[{"name":"number","type":"long"},'
    '{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},'
    '{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}]}'
)
VALUE = {"number": 7, "at": datetime(2026, 11, 18, tzinfo=UTC), "price": Decimal("1.50")}
PROTO = """
syntax = "proto3";
package shop;
import "common/money.proto";
import "google/protobuf/timestamp.proto";
message Order {
  int64 number = 1;
  Money price = 2;
  google.protobuf.Timestamp at = 3;
  message Line { string item = 1; }
}
message Refund { string reason = 1; }
"""
MONEY = Dependency(
    "common/money.proto", 'syntax = "proto3"; package shop; message Money { int32 cents = 1; }'
)


def avro(text: str) -> Any:
    return codec_of(Schema(SchemaType.AVRO, text))


def decoder(*answers: Any, now: list[float] | None = None) -> tuple[ScriptedHttp, RecordDecoder]:
    script = ScriptedHttp({A: list(answers)})
    clock = now or [0.0]
    return script, RecordDecoder(script.client(retry_s=0.0), now=lambda: clock[0])


def test_avro_with_logical_types() -> None:
    script, decode = decoder(Answer({"schema": ORDER}))
    data = prefix(3) + avro(ORDER).encode(VALUE)
    found = [decode.decode(data) for _ in range(2)]
    assert [one.value for one in found if one] == [VALUE, VALUE]
    assert found[0] is not None
    assert (found[0].schema_key, found[0].schema.type) == (3, SchemaType.AVRO)
    assert len(script.asked) == 1


def test_avro_with_references() -> None:
    text = (
        '{"type":"record","name":"A","fields":[{"name":"b","type":"x.B"},{"name":"c","type":["null","x.B"]}]}'
    )
    named = Dependency(
        "x.B", '{"type":"record","name":"B","namespace":"x","fields":[{"name":"n","type":"int"}]}'
    )
    codec = codec_of(Schema(SchemaType.AVRO, text), (named,))
    value = {"b": {"n": 1}, "c": {"n": 2}}
    assert codec.decode(Framed(1, codec.encode(value))) == value


def test_avro_bytes_stand_as_they_are() -> None:
    codec = avro('"bytes"')
    assert codec.encode(b"\x01\x02") == b"\x01\x02"
    assert codec.decode(Framed(1, b"\x01\x02")) == b"\x01\x02"


def test_json_is_checked_before_it_is_written() -> None:
    other = Dependency("zip.json", '{"type":"string","maxLength":5}')
    text = '{"type":"object","properties":{"zip":{"$ref":"zip.json"}},"required":["zip"]}'
    codec = codec_of(Schema(SchemaType.JSON, text), (other,))
    assert codec.decode(Framed(1, codec.encode({"zip": "12345"}))) == {"zip": "12345"}
    with pytest.raises(UnencodableValue, match="the value at zip does not fit"):
        codec.encode({"zip": "123456"})
    with pytest.raises(UnencodableValue, match="'zip' is a required property"):
        codec.encode({})


def test_protobuf_messages_by_their_path_with_imports() -> None:
    schema = Schema(SchemaType.PROTOBUF, PROTO)
    codec = codec_of(schema, (MONEY,))
    data = codec.encode({"number": "7", "price": {"cents": 150}, "at": "2026-11-18T00:00:00Z"})
    expected = {"number": "7", "price": {"cents": 150}, "at": "2026-11-18T00:00:00Z"}
    assert codec.decode(Framed(1, data)) == expected
    line = codec_of(schema, (MONEY,), message="shop.Order.Line").encode({"item": "tea"})
    assert line.startswith(indexes_bytes((0, 0)))
    assert codec.decode(Framed(1, line)) == {"item": "tea"}
    assert codec.decode(Framed(1, indexes_bytes((1,)))) == {"reason": ""}
    with pytest.raises(UndecodableRecord, match=r"no message at \[5\]"):
        codec.decode(Framed(1, indexes_bytes((5,))))
    with pytest.raises(UnencodableValue, match="no message Nothing"):
        codec_of(schema, (MONEY,), message="Nothing").encode({})


@pytest.mark.parametrize(
    ("schema", "data", "reason"),
    [
        (ORDER, b"\xff", "not Avro"),
        ('"int"', b"\x02\x02", "1 bytes are left over"),
        ('"string"', b"\x04\xff\xfe", "not Avro"),
    ],
)
def test_other_bytes_are_undecodable(schema: str, data: bytes, reason: str) -> None:
    with pytest.raises(UndecodableRecord, match=reason):
        avro(schema).decode(Framed(1, data))


@given(st.binary(max_size=60))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    for schema in (Schema(SchemaType.AVRO, ORDER), Schema(SchemaType.JSON, "{}")):
        try:
            codec_of(schema).decode(Framed(1, data))
        except UndecodableRecord:
            pass


def test_data_without_a_schema_is_none() -> None:
    script, decode = decoder()
    assert decode.decode(b"text") is None
    assert script.asked == []


def test_an_unknown_id_is_asked_for_again_after_a_moment() -> None:
    now = [0.0]
    script, decode = decoder(refused(40403), Answer({"schema": '"int"'}), now=now)
    for _ in range(3):
        with pytest.raises(UndecodableRecord, match="no schema 5"):
            decode.decode(prefix(5) + b"\x02")
    assert len(script.asked) == 1
    now[0] = UNKNOWN_S
    found = decode.decode(prefix(5) + b"\x02")
    assert found is not None
    assert found.value == 1


@pytest.mark.parametrize("text", ["{", "[" * 10_000, '{"type":"record"}', '"x.Unknown"'])
def test_a_schema_that_cannot_be_used_makes_its_records_undecodable(text: str) -> None:
    _, decode = decoder(Answer({"schema": text}))
    with pytest.raises(UndecodableRecord, match="schema 5 cannot be used"):
        decode.decode(prefix(5) + b"\x02")
    with pytest.raises(SchemaError):
        avro(text)


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tidelog.blocking.registry.avro_codec", raising=False)
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(PackageMissing, match=r"needs the package fastavro.*pip install 'tidelog\[schemas\]'"):
        avro('"int"')


def test_other_data_are_undecodable_also_by_a_registry_that_knows_no_guids() -> None:
    script, decode = decoder(refused(404))
    for _ in range(2):
        with pytest.raises(UndecodableRecord, match="has no schema"):
            decode.decode(b"\x01" + bytes(40))
    assert len(script.asked) == 1
    _, decode = decoder(refused(404))
    with pytest.raises(RegistryRefused):
        decode.decode(prefix(3) + bytes(40))
