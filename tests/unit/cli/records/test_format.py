"""How records are printed, and that nothing is lost on the way back in."""

import json

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.cli.records.format import Columns, Consumed, as_json, choose, template
from tidelog.cli.records.input import Recipe

RECORD = Consumed(
    "orders", 2, 41, 1_700_000_000_123, "create", b"k1", "Grüße".encode(), [("trace", b"a1"), ("empty", None)]
)
BINARY = RECORD._replace(key=None, value=b"\xff\x00")
TOMBSTONE = RECORD._replace(value=None)


def shown(name: str, record: Consumed = RECORD, columns: Columns | None = None) -> str:
    show, end = choose(name, columns or Columns(), on_terminal=False)
    return show(record) + end


def test_plain_is_the_value_alone() -> None:
    assert shown("plain") == "Grüße\n"
    assert shown("plain", TOMBSTONE) == "\n"
    assert shown("plain", BINARY) == "\\xff\x00\n"


def test_plain_columns_are_separated_by_tabs() -> None:
    everything = Columns(keys=True, headers=True, timestamps=True, offsets=True)
    expected = "2023-11-14T22:13:20.123Z\t2\t41\ttrace=a1,empty=null\tk1\tGrüße\n"
    assert shown("plain", columns=everything) == expected
    assert shown("plain", BINARY, Columns(keys=True)).startswith("null\t")


def test_pretty_shows_place_key_and_value() -> None:
    assert shown("pretty") == "2:41     k1  Grüße\n"
    assert shown("pretty", TOMBSTONE) == "2:41     k1  null\n"
    assert "trace=a1" in shown("pretty", columns=Columns(headers=True))


def test_raw_carries_any_byte_through() -> None:
    assert shown("raw", BINARY).encode("utf-8", "surrogateescape") == b"\xff\x00"


def test_hex() -> None:
    assert shown("hex", BINARY) == "2\t41\tnull\tff00\n"


def test_json_says_everything() -> None:
    assert json.loads(as_json(RECORD)) == {
        "topic": "orders",
        "partition": 2,
        "offset": 41,
        "timestamp": 1_700_000_000_123,
        "timestamp_type": "create",
        "key": "k1",
        "value": "Grüße",
        "headers": [["trace", "a1"], ["empty", None]],
    }
    assert json.loads(as_json(BINARY))["value"] == {"base64": "/wA="}


@given(st.none() | st.binary(max_size=20), st.none() | st.binary(max_size=20))
def test_what_consume_prints_as_json_produce_reads_back(key: bytes | None, value: bytes | None) -> None:
    line = as_json(RECORD._replace(key=key, value=value))
    back = Recipe(form="json").record(line.encode())
    assert (back.key, back.value, back.headers) == (key, value, RECORD.headers)
    assert (back.partition, back.timestamp) == (2, RECORD.timestamp)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("%k=%v", "k1=Grüße"),
        ("%t[%p]@%o", "orders[2]@41"),
        ("%K %S", "2 7"),
        ("%T", "1700000000123"),
        ("%h", "trace=a1,empty=null"),
        ("100%%", "100%"),
        (r"%o\t%k\n", "41\tk1\n"),
        (r"a\qb %s", r"a\qb Grüße"),
    ],
)
def test_templates(pattern: str, expected: str) -> None:
    assert template(pattern)(RECORD) == expected


def test_a_template_ends_lines_itself_when_it_says_so() -> None:
    assert shown(r"%o\n") == "41\n"
    assert shown("%o") == "41\n"


@pytest.mark.parametrize("pattern", ["%x", "%", "%k %"])
def test_an_unknown_token_is_refused(pattern: str) -> None:
    with pytest.raises(click.BadParameter, match="known: %t"):
        template(pattern)


def test_an_unknown_format_is_refused_with_the_names() -> None:
    with pytest.raises(click.BadParameter, match="pretty, plain, json, hex, raw"):
        choose("xml", Columns(), on_terminal=False)


def test_a_terminal_gets_pretty_and_a_pipe_plain() -> None:
    assert choose(None, Columns(), on_terminal=True)[0](RECORD).startswith("2:41")
    coloured = choose(None, Columns(), on_terminal=True, colour=True)[0](RECORD)
    assert coloured != click.unstyle(coloured) == "2:41     k1  Grüße"
    assert choose(None, Columns(), on_terminal=False)[0](RECORD) == "Grüße"


def test_a_record_cannot_command_the_terminal() -> None:
    record = RECORD._replace(
        key=b"k\x07", value=b"\x1b[2Jtwo\nlines\ttab \xc2\x9b", headers=[("h\x1b", b"\r")]
    )
    shown = choose("pretty", Columns(headers=True), on_terminal=True)[0](record)
    assert shown == "2:41     k\\x07  \\x1b[2Jtwo\\nlines\ttab \\x9b  h\\x1b=\\r"
    assert choose("plain", Columns(), on_terminal=False)[0](record) == "\x1b[2Jtwo\nlines\ttab \x9b"
