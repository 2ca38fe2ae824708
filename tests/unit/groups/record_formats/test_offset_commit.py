"""Byte for byte as Kafka writes them: the expected bytes are put together by hand from its schemas."""

import struct

import pytest

from tidelog.groups.record_formats.fields import CorruptGroupRecord
from tidelog.groups.record_formats.offset_commit import (
    CommittedOffset,
    OffsetKey,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)

KEY = b"\x00\x01" + b"\x00\x01g" + b"\x00\x06orders" + b"\x00\x00\x00\x07"


def test_key():
    assert encode_key("g", "orders", 7) == KEY
    assert decode_key(KEY) == OffsetKey("g", "orders", 7)
    assert decode_key(b"\x00\x00" + KEY[2:]) == OffsetKey("g", "orders", 7)
    assert decode_key(encode_key("grüße", "tøpic", 2**31 - 1)) == OffsetKey("grüße", "tøpic", 2**31 - 1)


def test_value_is_written_as_version_3():
    committed = CommittedOffset(42, 5, "note", 1_700_000_000_000)
    expected = struct.pack(">hqih4sq", 3, 42, 5, 4, b"note", 1_700_000_000_000)
    assert encode_value(committed) == expected
    assert decode_value(expected) == committed


def test_value_with_a_retention_of_its_own_is_written_as_version_1():
    committed = CommittedOffset(42, -1, "ü", 100, 200)
    expected = struct.pack(">hqh2sqq", 1, 42, 2, "ü".encode(), 100, 200)
    assert encode_value(committed) == expected
    assert decode_value(expected) == committed


@pytest.mark.parametrize("version", [0, 2])
def test_old_values_without_leader_epoch(version):
    data = struct.pack(">hqh1sq", version, 9, 1, b"m", 77)
    assert decode_value(data) == CommittedOffset(9, -1, "m", 77)


def test_flexible_value_with_a_tagged_topic_id():
    tags = b"\x01\x00\x10" + bytes(16)  # one tag, number 0, sixteen bytes
    data = struct.pack(">hqi", 4, 9, 3) + b"\x02m" + struct.pack(">q", 77) + tags
    assert decode_value(data) == CommittedOffset(9, 3, "m", 77)


@pytest.mark.parametrize("cut", range(1, len(KEY)))
def test_a_cut_key_is_refused(cut):
    with pytest.raises(CorruptGroupRecord):
        decode_key(KEY[:cut])


@pytest.mark.parametrize("size", [0, 2, 10, 20, 27])
def test_a_cut_value_is_refused(size):
    data = encode_value(CommittedOffset(42, 5, "note", 1))
    with pytest.raises(CorruptGroupRecord):
        decode_value(data[:size])


def test_an_unknown_version_is_refused():
    with pytest.raises(CorruptGroupRecord, match="version 9"):
        decode_value(b"\x00\x09" + bytes(30))
    with pytest.raises(CorruptGroupRecord):
        decode_key(b"\x00\x02" + KEY[2:])
    with pytest.raises(CorruptGroupRecord):
        decode_key(KEY + b"x")
