"""The time index of a segment: the largest timestamp so far, and the batch that brought it.

An entry says: nothing before this batch is newer. So the entry below a time is where to look for it.
"""

import struct
from array import array
from bisect import bisect_left, bisect_right

from tidelog.base.ids import NO_TIMESTAMP, Offset, TimestampMs
from tidelog.storage.segment.offset_index import RELATIVE_MAX, CorruptIndex

# Time index entry, big-endian, 12 bytes:
#   timestamp  i64  the largest in the segment up to and with the batch
#   relative   i32  last offset of the batch that holds it, minus the segment's base offset
ENTRY = struct.Struct(">qi")


class TimeIndex:
    __slots__ = ("_base", "_offsets", "timestamps")

    def __init__(self, base: Offset) -> None:
        self._base = base
        self.timestamps = array("q")  # one for each entry
        self._offsets = array("q")

    @classmethod
    def load(cls, base: Offset, raw: bytes) -> "TimeIndex":
        if len(raw) % ENTRY.size:
            raise CorruptIndex(f"{len(raw)} bytes are not a multiple of {ENTRY.size}")
        index = cls(base)
        last_timestamp, last_relative = NO_TIMESTAMP, -1
        for timestamp, relative in ENTRY.iter_unpack(raw):
            if timestamp <= last_timestamp or relative <= last_relative:
                raise CorruptIndex("an entry is not above the one before it")
            index.timestamps.append(timestamp)
            index._offsets.append(base + relative)
            last_timestamp, last_relative = timestamp, relative
        return index

    @staticmethod
    def read_last(base: Offset, raw: bytes) -> tuple[TimestampMs, Offset]:
        """The last entry, from the last bytes of an index file; none at all gives (-1, base)."""
        if len(raw) != ENTRY.size:
            return NO_TIMESTAMP, base
        timestamp, relative = ENTRY.unpack(raw)
        if not 0 <= relative <= RELATIVE_MAX or timestamp < 0:
            raise CorruptIndex(f"the last entry is ({timestamp}, {relative})")
        return timestamp, base + relative

    def dump(self, first: int = 0) -> bytes:
        pairs = zip(self.timestamps[first:], self._offsets[first:], strict=True)
        return b"".join(ENTRY.pack(timestamp, offset - self._base) for timestamp, offset in pairs)

    def __len__(self) -> int:
        return len(self.timestamps)

    def add(self, timestamp: TimestampMs, last_offset: Offset) -> None:
        """Ignores a `timestamp` that is not the largest so far."""
        timestamps = self.timestamps
        if timestamp > (timestamps[-1] if timestamps else NO_TIMESTAMP):
            timestamps.append(timestamp)
            self._offsets.append(last_offset)

    @property
    def last(self) -> tuple[TimestampMs, Offset]:
        if not self.timestamps:
            return NO_TIMESTAMP, self._base
        return self.timestamps[-1], self._offsets[-1]

    def entry_below(self, timestamp: TimestampMs) -> tuple[TimestampMs, Offset] | None:
        """The last entry older than `timestamp`: nothing up to its offset is as new."""
        number = bisect_left(self.timestamps, timestamp) - 1
        return (self.timestamps[number], self._offsets[number]) if number >= 0 else None

    def truncate(self, offset: Offset) -> None:
        """Forget the batches that end at or above `offset`."""
        kept = bisect_right(self._offsets, offset - 1)
        del self.timestamps[kept:], self._offsets[kept:]
