"""Times of scheduled records as sixteen bytes each, whose order is that of the times.

    0  due_ms << 20 | count - 1   u64
    8  first offset               u64

A sorted run is such entries one after the other, in memory or in a file.
"""

import struct
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from tidelog.base.ids import TimestampMs
from tidelog.base.ports import Buffer
from tidelog.shares.schedule.due_times import Due

ENTRY: Final = struct.Struct(">QQ")
ENTRY_BYTES: Final = ENTRY.size
_COUNT_BITS = 20
_COUNT_MASK = (1 << _COUNT_BITS) - 1
COUNT_MAX: Final = 1 << _COUNT_BITS
_key = struct.Struct(">Q").pack


def encode(due: Due) -> Iterator[bytes]:
    """One entry; more for a range that is longer than an entry has room for."""
    for first in range(due.first, due.last + 1, COUNT_MAX):
        count = min(COUNT_MAX, due.last + 1 - first)
        yield ENTRY.pack(due.due_ms << _COUNT_BITS | count - 1, first)


def decode(data: Buffer) -> Iterator[Due]:
    for key, first in ENTRY.iter_unpack(data):
        yield Due(key >> _COUNT_BITS, first, first + (key & _COUNT_MASK))


def due_ms_at(data: Buffer, position: int = 0) -> TimestampMs:
    """The time of the entry at `position`."""
    key: int = ENTRY.unpack_from(data, position)[0]
    return key >> _COUNT_BITS


def end_of(data: bytes, until_ms: TimestampMs) -> int:
    """The position in a sorted run at which times after `until_ms` begin."""
    bound = _key(until_ms + 1 << _COUNT_BITS)
    count = len(data) // ENTRY_BYTES
    return ENTRY_BYTES * bisect_left(
        range(count), bound, key=lambda i: data[i * ENTRY_BYTES : i * ENTRY_BYTES + 8]
    )
