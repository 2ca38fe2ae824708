"""Records by their schemas: what consume shows of them, and what produce makes of JSON."""

import json
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import pytest

from tidelog.blocking.registry.decoding import Decoded
from tidelog.blocking.registry.errors import PackageMissing, RegistryUnavailable, UndecodableRecord
from tidelog.cli.exits import CliError
from tidelog.cli.records.avro_input import AvroInput
from tidelog.cli.records.decoding import NOTES_MAX, Decoding, decoder_for
from tidelog.cli.records.encoding import json_of
from tidelog.cli.records.format import Columns, Consumed, as_json, choose
from tidelog.cli.records.input import Recipe
from tidelog.cli.records.json_values import json_ready
from tidelog.cli.session import Session
from tidelog.registry.schema import Schema, SchemaType

RECORD = Consumed("t[x]", 0, 5, None, None, b"key", b"\0\0\0\0\x07data", [("h", b"1")])
SCHEMA = Schema(SchemaType.AVRO, '"int"')


class FakeDecoder:
    def __init__(self, found: Any) -> None:
        self.found = found
        self.asked: list[tuple[bytes, bool]] = []

    def decode(self, data: bytes, *, headers: Any, is_key: bool) -> Any:
        self.asked.append((data, is_key))
        if isinstance(self.found, Exception):
            raise self.found
        return None if is_key else self.found


def no_errors() -> AbstractContextManager[None]:
    return nullcontext()


def decoding(found: Any, *, is_named: bool = True) -> tuple[Decoding, list[str], FakeDecoder]:
    notes: list[str] = []
    decoder: Any = FakeDecoder(found)
    return Decoding(decoder, no_errors if is_named else None, notes.append), notes, decoder


def test_a_decoded_value_is_shown_as_json_in_every_format() -> None:
    made, _, _ = decoding(Decoded({"a": "ü", "b": [1]}, 7, SCHEMA))
    record = made.shown(RECORD)
    assert choose("plain", Columns(), on_terminal=False)[0](record) == '{"a":"ü","b":[1]}'
    assert choose("%k %v %S", Columns(), on_terminal=False)[0](record) == 'key {"a":"ü","b":[1]} 9'
    line = json.loads(as_json(record))
    assert line["value"] == {"a": "ü", "b": [1]}
    assert line["value_schema"] == {"id": 7, "type": "AVRO"}
    assert (line["key"], "key_schema" in line) == ("key", False)
    assert "value_decoded" not in line


def test_a_decoded_text_has_no_quotes_and_no_control_characters() -> None:
    made, _, _ = decoding(Decoded("a\x1b[31m", 7, SCHEMA))
    record = made.shown(RECORD)
    assert choose("plain", Columns(), on_terminal=False)[0](record) == "a\x1b[31m"
    assert choose("pretty", Columns(), on_terminal=False)[0](record).endswith("a\\x1b[31m")


@pytest.mark.parametrize("error", [UndecodableRecord("it [broke]"), PackageMissing("Avro", "fastavro")])
def test_what_cannot_be_decoded_is_shown_as_it_is_with_a_few_notes(error: Exception) -> None:
    made, notes, _ = decoding(error)
    record = RECORD._replace(key=None)
    assert [made.shown(record) for _ in range(10)] == [record] * 10
    assert len(notes) == NOTES_MAX + 1
    assert "t\\[x][0] offset 5: the value is shown as it is" in notes[0].replace("\\[0]", "[0]")


def test_a_guessed_registry_that_is_away_is_asked_once() -> None:
    made, notes, decoder = decoding(RegistryUnavailable("away"), is_named=False)
    assert [made.shown(RECORD) for _ in range(3)] == [RECORD] * 3
    assert len(decoder.asked) <= 2
    assert notes == []


def test_bytes_as_they_are_need_no_registry() -> None:
    for form in ("raw", "hex"):
        assert decoder_for(Session(), "http://x", form, on_terminal=False) is None
    assert decoder_for(Session(), "off", "", on_terminal=True) is None


def test_values_that_json_does_not_have() -> None:
    values = {
        "at": datetime(2026, 11, 18, 8, 30, tzinfo=UTC),
        "day": date(2026, 11, 18),
        "hour": time(8, 30),
        "price": Decimal("1.50"),
        "tiny": Decimal("1E-7"),
        "id": UUID(int=1),
        "text": b"abc",
        "bytes": b"\xff",
        "nan": float("nan"),
        "list": (1, None, True),
    }
    assert json_ready(values) == {
        "at": "2026-11-18T08:30:00Z",
        "day": "2026-11-18",
        "hour": "08:30:00",
        "price": "1.50",
        "tiny": "0.0000001",
        "id": "00000000-0000-0000-0000-000000000001",
        "text": "abc",
        "bytes": {"base64": "/w=="},
        "nan": "nan",
        "list": [1, None, True],
    }


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
LINE = {"type": "record", "name": "L", "fields": [{"name": "b", "type": "bytes"}]}
AVRO = AvroInput(
    fastavro.parse_schema(
        {
            "type": "record",
            "name": "Order",
            "fields": [
                {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
                {"name": "day", "type": {"type": "int", "logicalType": "date"}},
                {"name": "price", "type": DECIMAL},
                {"name": "raw", "type": "bytes"},
                {"name": "line", "type": ["null", LINE]},
                {"name": "more", "type": {"type": "array", "items": "L"}},
                {"name": "either", "type": ["int", "string"]},
            ],
        }
    )
)


def test_json_becomes_avro_values() -> None:
    value = {
        "at": "2026-11-18T08:30:00Z",
        "day": "2026-11-18",
        "price": "1.50",
        "raw": {"base64": "/w=="},
        "line": None,
        "more": [{"b": "x"}],
        "either": {"string": "s"},
    }
    assert AVRO.value(value) == {
        "at": datetime(2026, 11, 18, 8, 30, tzinfo=UTC),
        "day": date(2026, 11, 18),
        "price": Decimal("1.50"),
        "raw": b"\xff",
        "line": None,
        "more": [{"b": b"x"}],
        "either": "s",
    }


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"what": 1}, "'what' is no field of Order; it has at, day"),
        ({"price": "much"}, "'much' is no decimal number"),
        ({"day": "today"}, "today"),
    ],
)
def test_json_that_does_not_fit_is_refused(value: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        AVRO.value(value)


def test_a_line_is_json_or_plain_text() -> None:
    assert [json_of(data) for data in (b'{"a":1}', b"5", b'"x"', b"hello world")] == [
        {"a": 1},
        5,
        "x",
        "hello world",
    ]
    for broken in (b'{"a"', b"[1", b'"x'):
        with pytest.raises(ValueError):
            json_of(broken)


def test_keys_and_values_are_encoded_from_lines_and_from_json() -> None:
    def encode(value: Any) -> bytes:
        if value == "bad":
            raise ValueError("the value does not fit")
        return b"<" + json.dumps(value).encode() + b">"

    lines = Recipe(key_separator=":", encode_value=encode, encode_key=encode, null_value=True)
    made = lines.record(b'1:{"a":2}')
    assert (made.key, made.value) == (b"<1>", b'<{"a": 2}>')
    assert lines.record(b"1:").value is None
    consumed = Recipe(form="json", encode_value=encode)
    again = consumed.record(b'{"key":"k","value":{"base64":"eA=="},"value_schema":{"id":1}}')
    assert (again.key, again.value) == (b"k", b'<{"base64": "eA=="}>')
    with pytest.raises(CliError, match=r"Record 2 .* does not fit"):
        list(Recipe(encode_value=encode).records([b"1", b'"bad"']))
