"""Columns of varints say what `wire.varint` says of each."""

import numpy as np
import pytest

from tidelog.spark.records import varints
from tidelog.spark.records.varints import OutOfRange
from tidelog.wire.varint import encode_varint, read_varlong

NUMBERS = sorted({sign * (1 << bits) + step for bits in range(63) for sign in (1, -1) for step in (-1, 0, 1)})


def columns(data: bytes) -> tuple[varints.Bytes, "np.ndarray[tuple[int], np.dtype[np.uint32]]"]:
    raw = np.frombuffer(data, np.uint8)
    return raw, varints.words_of(raw)


@pytest.mark.parametrize("largest", [63, 8191, 2**20 - 1, 2**27 - 1, 2**34, 2**62])
def test_reads_numbers_of_every_width(largest: int) -> None:
    numbers = [number for number in NUMBERS if -largest <= number <= largest]
    encoded = [encode_varint(number) for number in numbers]
    ends = np.cumsum([len(each) for each in encoded])
    starts = np.concatenate([[0], ends[:-1]])
    values, after = varints.read(*columns(b"".join(encoded)), starts, 64)
    assert values.tolist() == numbers
    assert after.tolist() == ends.tolist()


@pytest.mark.parametrize("tail", [b"\x02", b"\x80\x01", b"\x80\x80\x01", b"\x80\x80\x80\x01"])
def test_the_last_bytes_are_read_as_any_others(tail: bytes) -> None:
    values, after = varints.read(*columns(b"\x04" + tail), np.array([0, 1]))
    assert values.tolist() == [2, read_varlong(tail, 0)[0]]
    assert after.tolist() == [1, 1 + len(tail)]


@pytest.mark.parametrize(
    ("data", "bits"),
    [
        (b"\xff\xff\xff\xff\x10", 32),
        (b"\xff\xff\xff\xff\x80\x00", 32),
        (b"\xff" * 9 + b"\x02", 64),
        (b"\xff" * 11, 64),
        (b"\xff" * 4, 32),
    ],
)
def test_what_has_too_many_bits_or_no_end_is_refused(data: bytes, bits: int) -> None:
    with pytest.raises(OutOfRange) as refused:
        varints.read(*columns(b"\x00\x00\x00\x00" + data), np.array([0, 1, 4]), bits)
    assert refused.value.row == 2


def test_writes_what_is_read() -> None:
    numbers = np.array(NUMBERS)
    small = numbers % 50
    data, edges = varints.write([small, numbers])
    assert data.tobytes() == b"".join(
        encode_varint(a) + encode_varint(b) for a, b in zip(small.tolist(), NUMBERS, strict=True)
    )
    assert (np.diff(edges) == varints.widths(small) + varints.widths(numbers)).all()
    assert varints.widths(numbers).tolist() == [len(encode_varint(number)) for number in NUMBERS]
