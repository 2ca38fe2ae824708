"""Where records name their schemas."""

import pytest

from tidelog.registry.validation.naming import NO_NAME, Side, names_in, shown
from tidelog.wire.fronts import read_fronts
from tidelog.wire.record import Record, write_batch

GUID = bytes(range(16))


def fronts(key=None, value=None, headers=()):
    return read_fronts(write_batch([Record(0, 0, key, value, list(headers))]))


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (None, None),
        (b"\0\0\0\0\x07payload", 7),
        (b"\0\xff\xff\xff\xff", 2**32 - 1),
        (b"\x01" + GUID + b"payload", GUID),
        (b"", NO_NAME),
        (b"\0\0\0\0", NO_NAME),
        (b"\x01" + GUID[:-1], NO_NAME),
        (b"\x02\0\0\0\x07", NO_NAME),
        (b'{"json": 1}', NO_NAME),
    ],
)
def test_in_front(data, name):
    assert names_in(fronts(value=data), Side.VALUE) == [name]
    assert names_in(fronts(key=data), Side.KEY) == [name]


def test_in_a_header():
    headers = [
        ("__value_schema_id", b"\x01" + GUID),
        ("__key_schema_id", b"\0\0\0\0\x07"),
        ("x", b"\0\0\0\0\1"),
    ]
    both = fronts(b"plain", b"plain", headers)
    assert names_in(both, Side.VALUE) == [GUID]
    assert names_in(both, Side.KEY) == [7]


def test_the_header_counts_more_than_the_front_and_the_last_one_most():
    headers = [("__value_schema_id", b"\0\0\0\0\1"), ("__value_schema_id", b"\0\0\0\0\2")]
    assert names_in(fronts(value=b"\0\0\0\0\3", headers=headers), Side.VALUE) == [2]


@pytest.mark.parametrize("value", [None, b"", b"\0\1", b"text"])
def test_a_header_that_names_none(value):
    assert names_in(fronts(value=b"\0\0\0\0\3", headers=[("__value_schema_id", value)]), Side.VALUE) == [
        NO_NAME
    ]


def test_a_null_with_a_header_is_null():
    assert names_in(fronts(headers=[("__value_schema_id", b"\0\0\0\0\1")]), Side.VALUE) == [None]


def test_names_for_people():
    assert shown(7) == "schema id 7"
    assert shown(GUID) == "schema GUID 00010203-0405-0607-0809-0a0b0c0d0e0f"
