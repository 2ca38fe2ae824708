"""Where each record of a batch begins: the one thing that cannot be computed for all records at once.

A record's length says where the next one begins. Plain Python walks from one to the next, at a tenth of a
microsecond each; where records of one size follow each other, numpy proves a whole run of them in one step.
"""

import numpy as np
import numpy.typing as npt

from tidelog.spark.records.varints import Ints
from tidelog.wire.varint import read_varint

_WALKED_FIRST = 8
_WALKED_MAX = 4096
_RUN_WORTH_IT = 128
"""Proving a run costs as much as walking so many records."""


def record_starts(
    data: bytes, words: npt.NDArray[np.uint32], position: int, end: int, count: int
) -> list[Ints]:
    """The `count` positions, in pieces; ValueError or IndexError unless they lead from `position` to `end`.

    Lengths are not checked here beyond that: the sign of each is the caller's to look at.
    """
    pieces: list[Ints] = []
    left, walked = count, _WALKED_FIRST if count > _RUN_WORTH_IT else count
    while left > 0:
        walked = min(walked, left)
        starts, position = _walk(data, position, walked)
        pieces.append(np.array(starts, np.int64))
        left -= walked
        if left <= _RUN_WORTH_IT:
            walked = left
            continue
        stride = position - starts[-1]
        run = 0
        if starts[-1] - starts[-2] == stride == starts[-2] - starts[-3]:
            most = min(left, (end - position) // stride)
            run = _equal_run(words, position, stride, starts[-1], most)
            pieces.append(np.arange(position, position + run * stride, stride))
            position += run * stride
            left -= run
        walked = _WALKED_FIRST if run >= _RUN_WORTH_IT else min(4 * walked, _WALKED_MAX)
    if position != end:
        raise ValueError(
            f"the {count} records declared end {position - end} bytes from the end of their batch"
        )
    return pieces


def _walk(data: bytes, position: int, count: int) -> tuple[list[int], int]:
    starts: list[int] = []
    append = starts.append
    for _ in range(count):
        append(position)
        first = data[position]
        if first < 128:
            position += (first >> 1) + 1
            continue
        second = data[position + 1]
        if second < 128:
            position += ((first & 127 | second << 7) >> 1) + 2
            continue
        length, position = read_varint(data, position)
        position += abs(length)
    return starts, position


def _equal_run(words: npt.NDArray[np.uint32], position: int, stride: int, model: int, most: int) -> int:
    """How many records from `position` on declare the length that the one at `model` does."""
    lengths = words[position : position + most * stride : stride]
    if not len(lengths):
        return 0
    declared = int(words[model])
    width = 1
    while width < 4 and declared & 0x80 << 8 * (width - 1):
        width += 1
    mask = np.uint32(0xFFFFFFFF >> (32 - 8 * width))
    if width == 4 and declared & 0x80000000:
        return 0
    same = (lengths & mask) == (np.uint32(declared) & mask)
    return len(same) if same.all() else int(same.argmin())
