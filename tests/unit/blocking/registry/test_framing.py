"""Where a record names its schema, as Confluent's serializers write it."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.blocking.registry.errors import UndecodableRecord
from tidelog.blocking.registry.framing import Framed, framed, indexes_bytes, message_of, prefix
from tidelog.registry.validation.naming import NO_NAME, Side, names_in
from tidelog.wire.fronts import Fronts

GUID = uuid.UUID("89791762-2336-4186-9674-299b90a802e2")
IN_HEADER = b"\x01" + GUID.bytes


def test_an_id_stands_before_the_data() -> None:
    assert framed(b"\0\0\0\x01\x02data") == Framed(258, b"data")
    assert framed(prefix(7)) == Framed(7, b"")


def test_a_guid_stands_in_a_header_of_key_or_value() -> None:
    headers = [("other", b"x"), ("__value_schema_id", IN_HEADER)]
    assert framed(b"data", headers) == Framed(str(GUID), b"data", b"")
    assert framed(b"data", headers, is_key=True) is None
    assert framed(b"data", [("__key_schema_id", prefix(3))], is_key=True) == Framed(3, b"data", b"")
    assert framed(IN_HEADER + b"data") == Framed(str(GUID), b"data")


def test_the_last_header_decides_as_for_the_broker() -> None:
    """What a broker let pass is what a consumer decodes."""
    name, data = "__value_schema_id", prefix(7) + b"data"
    for last in (prefix(2), IN_HEADER, prefix(2) + b"\0", b"?", b"", None):
        headers = [(name, prefix(1)), (name, last), ("other", prefix(3))]
        found = framed(data, headers)
        [named] = names_in(Fronts([None], [data], {0: headers}), Side.VALUE)
        if found is None:
            assert named is NO_NAME
        elif isinstance(found.schema, str):
            assert named == uuid.UUID(found.schema).bytes
        else:
            assert named == found.schema == 2


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0\0", b"text", b"{}", b"\x01short", b"\x02\0\0\0\x01"])
def test_other_bytes_name_no_schema(data: bytes) -> None:
    assert framed(data, [("__value_schema_id", b"?"), ("__value_schema_id", None)]) is None


@given(st.lists(st.integers(0, 2**30), min_size=1, max_size=5), st.binary())
def test_a_path_of_messages_is_read_back(path: list[int], data: bytes) -> None:
    assert message_of(Framed(1, indexes_bytes(path) + data)) == (tuple(path), data)
    assert message_of(Framed(1, data, indexes_bytes(path))) == (tuple(path), data)


def test_the_first_message_is_a_single_zero() -> None:
    assert indexes_bytes([0]) == b"\0"
    assert message_of(Framed(1, b"\x02\0data")) == ((0,), b"data"), "the long form of the same"


@pytest.mark.parametrize(
    "data", [b"", b"\x02", b"\x80" * 9, b"\xff\xff\xff\xff\x0f", b"\x01", b"\x04\x02\x80"]
)
def test_broken_paths_are_refused(data: bytes) -> None:
    with pytest.raises(UndecodableRecord):
        message_of(Framed(1, data))


@given(st.binary(max_size=40))
def test_any_bytes_are_answered(data: bytes) -> None:
    found = framed(data)
    if found is not None:
        try:
            message_of(found)
        except UndecodableRecord:
            pass
