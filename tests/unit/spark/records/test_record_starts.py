"""Starts are found one by one or in proved runs; both ways must agree, and none may leave the batch."""

from collections.abc import Sequence

import numpy as np
import pytest

from tidelog.spark.records.record_starts import record_starts
from tidelog.spark.records.varints import words_of
from tidelog.wire.varint import encode_varint


def body(lengths: Sequence[int]) -> tuple[bytes, list[int]]:
    data, starts = bytearray(), []
    for length in lengths:
        starts.append(len(data))
        data += encode_varint(length) + b"\x7e" * length
    return bytes(data), starts


def found(data: bytes, count: int, end: int | None = None) -> list[int]:
    words = words_of(np.frombuffer(data, np.uint8))
    pieces = record_starts(data, words, 0, len(data) if end is None else end, count)
    return [int(start) for piece in pieces for start in piece]


@pytest.mark.parametrize(
    "lengths",
    [
        [7],
        [100] * 1000,
        [50] * 64 + [51] * 500 + [50] * 400,
        [7 + number % 90 for number in range(2000)],
        [100] * 300 + [7 + number % 3 for number in range(700)] + [100] * 300,
        [9000] * 200,
        [2_100_000] * 3,
        [100] * 400 + [5],
    ],
    ids=lambda lengths: f"{len(lengths)} from {lengths[0]}",
)
def test_every_start_is_found(lengths: list[int]) -> None:
    data, starts = body(lengths)
    assert found(data, len(lengths)) == starts


@pytest.mark.parametrize("count", [1, 299, 301, 2**31 - 1])
def test_a_count_that_does_not_fit_is_refused(count: int) -> None:
    data, _ = body([40] * 300)
    with pytest.raises((ValueError, IndexError)):
        found(data, count)


def test_records_that_go_on_into_the_next_batch_are_refused() -> None:
    data, starts = body([40] * 300)
    with pytest.raises(ValueError, match="from the end of their batch"):
        found(data, 200, end=starts[200] - 1)
