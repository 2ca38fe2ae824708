import pytest
from kafka.record.util import decode_varint
from kafka.record.util import encode_varint as foreign_encode

from tidelog.wire.varint import encode_varint, read_varint, read_varlong

EDGES = [0, 1, 63, 64, 8191, 8192, 4095, 4096, 2**20, 2**31 - 1]
INTS = sorted({sign * edge for edge in EDGES for sign in (1, -1)} | {-(2**31), -64, -65, -8192, -8193})
LONGS = [*INTS, 2**31, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("value", LONGS)
def test_encodes_like_kafka_python(value: int) -> None:
    theirs = bytearray()
    foreign_encode(value, theirs.append)
    assert encode_varint(value) == bytes(theirs)
    assert decode_varint(bytearray(encode_varint(value)), 0)[0] == value


@pytest.mark.parametrize("value", INTS)
def test_reads_back_ints_at_any_position(value: int) -> None:
    encoded = encode_varint(value)
    assert read_varint(b"\xff" + encoded, 1) == (value, 1 + len(encoded))
    assert read_varlong(b"\xff" + encoded, 1) == (value, 1 + len(encoded))


@pytest.mark.parametrize("value", LONGS)
def test_reads_back_longs(value: int) -> None:
    assert read_varlong(encode_varint(value), 0)[0] == value


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**63 - 1])
def test_an_int_of_more_than_32_bits_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match="32 bits"):
        read_varint(encode_varint(value), 0)


@pytest.mark.parametrize("endless", [b"\xff" * 9 + b"\x02", b"\x80" * 11, b"\xff" * 20])
def test_a_long_of_more_than_64_bits_is_refused(endless: bytes) -> None:
    with pytest.raises(ValueError, match="64 bits"):
        read_varlong(endless, 0)


@pytest.mark.parametrize("truncated", [b"", b"\x80", b"\xff\xff", b"\xff\xff\xff\xff"])
def test_the_end_of_the_bytes_is_an_index_error(truncated: bytes) -> None:
    for read in (read_varint, read_varlong):
        with pytest.raises(IndexError):
            read(truncated, 0)
