"""Byte for byte as Kafka writes them: the expected bytes are put together by hand from its schemas."""

import struct

import pytest

from tidelog.groups.record_formats.fields import CorruptGroupRecord
from tidelog.groups.record_formats.group_metadata import (
    StoredGroup,
    StoredMember,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)

MEMBER = StoredMember("m-1", "i", "c", "/1.2.3.4", 60_000, 10_000, b"sub", b"as")
STATIC = StoredMember("m-2", None, "c", "/1.2.3.4", 1, 2, b"", b"")


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def blob(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


HEAD = text("consumer") + struct.pack(">i", 3) + text("range") + text("m-1")
V3 = (
    b"\x00\x03" + HEAD + struct.pack(">qi", 99, 1)
    + text("m-1") + text("i") + text("c") + text("/1.2.3.4") + struct.pack(">ii", 60_000, 10_000)
    + blob(b"sub") + blob(b"as")
)  # fmt: skip


def test_key():
    assert encode_key("g") == b"\x00\x02\x00\x01g"
    assert decode_key(encode_key("grüße")) == "grüße"
    with pytest.raises(CorruptGroupRecord):
        decode_key(b"\x00\x01\x00\x01g")


def test_value_is_written_as_version_3():
    group = StoredGroup("consumer", 3, "range", "m-1", 99, (MEMBER,))
    assert encode_value(group) == V3
    assert decode_value(V3) == group


def test_an_empty_group_has_neither_protocol_nor_leader():
    group = StoredGroup("consumer", 4, None, None, 99, ())
    assert decode_value(encode_value(group)) == group
    assert encode_value(group).endswith(b"\xff\xff\xff\xff" + struct.pack(">qi", 99, 0))


def test_several_members():
    group = StoredGroup("consumer", 4, "range", "m-2", -1, (MEMBER, STATIC))
    assert decode_value(encode_value(group)) == group


def test_version_0_has_one_timeout_and_no_timestamp():
    member = text("m-1") + text("c") + text("h") + struct.pack(">i", 10_000) + blob(b"sub") + blob(b"as")
    group = decode_value(b"\x00\x00" + HEAD + struct.pack(">i", 1) + member)
    assert group.state_timestamp == -1
    assert group.members == (StoredMember("m-1", None, "c", "h", 10_000, 10_000, b"sub", b"as"),)


def test_version_4_is_compact_and_may_have_tags():
    def compact(value: bytes) -> bytes:
        return bytes([len(value) + 1]) + value

    member = b"".join(map(compact, (b"m-1", b"i", b"c", b"/1.2.3.4")))
    member += struct.pack(">ii", 60_000, 10_000) + compact(b"sub") + compact(b"as") + b"\x01\x05\x01x"
    data = (
        b"\x00\x04" + compact(b"consumer") + struct.pack(">i", 3) + compact(b"range") + compact(b"m-1")
        + struct.pack(">q", 99) + b"\x02" + member + b"\x00"
    )  # fmt: skip
    assert decode_value(data) == StoredGroup("consumer", 3, "range", "m-1", 99, (MEMBER,))


@pytest.mark.parametrize("cut", range(len(V3)))
def test_a_cut_value_is_refused(cut):
    with pytest.raises(CorruptGroupRecord):
        decode_value(V3[:cut])


def test_a_count_beyond_the_record_is_refused():
    with pytest.raises(CorruptGroupRecord, match="elements"):
        decode_value(b"\x00\x03" + HEAD + struct.pack(">qi", 99, 2**31 - 1))
