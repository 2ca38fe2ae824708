"""Where each record of a batch begins: the one thing that cannot be computed for all records at once.

A record's length says where the next one begins. Plain Python walks from one to the next, at a tenth of a
microsecond each; where records of one size follow each other, numpy proves a whole run of them in one step.
"""

import numpy as np
import numpy.typing as npt

from tidelog.wire.varint import read_varint

_RUN_TRIED_AFTER = 6
"""So many records of one size in a row suggest that more follow."""
_RUN_WORTH_IT = 48
_PATIENCE_MAX = 1 << 20


def record_starts(
    data: bytes | bytearray, words: npt.NDArray[np.uint32], position: int, end: int, count: int
) -> list[int] | npt.NDArray[np.int64]:
    """The `count` positions; ValueError or IndexError unless the records fill `position` to `end` exactly."""
    parts: list[list[int] | npt.NDArray[np.int64]] = []
    starts: list[int] = []
    append = starts.append
    stride, same, patience = 0, 0, _RUN_TRIED_AFTER
    left = count
    while left > 0:
        first = data[position]
        if first < 128:
            length, after = first >> 1 ^ -(first & 1), position + 1
        else:
            second = data[position + 1]
            if second < 128:
                length, after = (first & 127 | second << 7) >> 1 ^ -(first & 1), position + 2
            else:
                length, after = read_varint(data, position)  # type: ignore[arg-type]
        following = after + length
        if length <= 0 or following > end:
            raise ValueError(f"a record of {length} bytes with {end - after} left")
        if following - position == stride:
            same += 1
            if same >= patience:
                run = _equal_run(
                    words, position, stride, after - position, min(left, (end - position) // stride)
                )
                same = 0
                if run > 1:
                    parts += (starts, np.arange(position, position + run * stride, stride))
                    starts = []
                    append = starts.append
                    position += run * stride
                    left -= run
                    patience = _RUN_TRIED_AFTER if run >= _RUN_WORTH_IT else min(2 * patience, _PATIENCE_MAX)
                    continue
                patience = min(2 * patience, _PATIENCE_MAX)
        else:
            stride, same = following - position, 0
        append(position)
        position = following
        left -= 1
    if position != end:
        raise ValueError(f"{end - position} bytes after the {count} records declared")
    if not parts:
        return starts
    return np.concatenate([*parts, starts]).astype(np.int64)


def _equal_run(words: npt.NDArray[np.uint32], position: int, stride: int, width: int, most: int) -> int:
    """How many records from `position` on declare the length that the first one does."""
    lengths = words[position : position + most * stride : stride]
    if len(lengths) < 2 or width > 4:
        return 1
    mask = np.uint32(0xFFFFFFFF >> (32 - 8 * width))
    same = (lengths & mask) == (lengths[0] & mask)
    return len(same) if same.all() else int(same.argmin())
