import pytest

from tidelog.base.errors import ProtocolError
from tidelog.wire.primitives import (
    STRING_BYTES_MAX,
    read_string_length,
    read_uvarint,
    skip_tags,
    string_length,
    uvarint,
)


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "8001"),
        (300, "ac02"),
        (16_383, "ff7f"),
        (16_384, "808001"),
        (2_097_151, "ffff7f"),
        (2_097_152, "80808001"),
        (268_435_455, "ffffff7f"),
        (268_435_456, "8080808001"),
        (2**32 - 1, "ffffffff0f"),
    ],
)
def test_uvarint_both_ways(value, wire):
    assert uvarint(value) == bytes.fromhex(wire)
    assert read_uvarint(bytes.fromhex("00" + wire + "55"), 1) == (value, 1 + len(wire) // 2)


def test_uvarint_may_be_longer_than_needed():
    assert read_uvarint(b"\x81\x80\x00", 0) == (1, 3)


@pytest.mark.parametrize("wire", ["ffffffff10", "ffffffffff01", "ffffffff7f"])
def test_uvarint_overflow(wire):
    with pytest.raises(ProtocolError):
        read_uvarint(bytes.fromhex(wire), 0)


def test_uvarint_too_large_to_write():
    with pytest.raises(ProtocolError):
        uvarint(2**32)


def test_strings_have_a_limit_both_ways():
    fits = STRING_BYTES_MAX + 1
    assert read_string_length(string_length(fits), 0) == (fits, 3)
    with pytest.raises(ProtocolError):
        string_length(fits + 1)
    with pytest.raises(ProtocolError):
        read_string_length(uvarint(fits + 1), 0)


def test_skip_tags():
    assert skip_tags(bytes.fromhex("0001aa" + "0500" + "8001020000" + "ff"), 0, 3) == 10


@pytest.mark.parametrize(
    "wire",
    [
        "0500" + "0500",  # the same tag twice
        "0500" + "0400",  # falling tags
        "0503aa" + "06",  # a size past the end
    ],
)
def test_skip_tags_refuses(wire):
    with pytest.raises(ProtocolError):
        skip_tags(bytes.fromhex(wire), 0, 2)
