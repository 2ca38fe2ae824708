"""The offset index of a segment: a sparse map from offsets to positions in the `.log` file.

Kept in memory while the segment is written; the file is brought up to date now and then, and at the end.
Sparse on purpose: take the entry at or below, then walk the batch headers from there.
"""

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from itertools import pairwise

from tidelog.base.ids import Offset

# Offset index entry, big-endian, 8 bytes:
#   relative  i32  last offset of the batch minus the segment's base offset
#   position  i32  first byte of that batch in the .log file
ENTRY_BYTES = 8
_ENTRY = struct.Struct(">ii")
RELATIVE_MAX = 2**31 - 1


class CorruptIndex(Exception):
    """The bytes of an index file that cannot be right; the segment tells the truth, so rebuild from it."""


class OffsetIndex:
    __slots__ = ("_base", "_positions", "relatives")

    def __init__(self, base: Offset) -> None:
        self._base = base
        self.relatives = array("i")  # one for each entry
        self._positions = array("i")

    @classmethod
    def load(cls, base: Offset, raw: bytes, log_bytes: int) -> "OffsetIndex":
        """From the bytes of an index file, or CorruptIndex. `log_bytes` is the size of the segment."""
        if len(raw) % ENTRY_BYTES:
            raise CorruptIndex(f"{len(raw)} bytes are not a multiple of {ENTRY_BYTES}")
        both = array("i", raw)
        if sys.byteorder == "little":
            both.byteswap()
        index = cls(base)
        index.relatives, index._positions = both[0::2], both[1::2]
        if index._positions and index._positions[-1] >= log_bytes:
            raise CorruptIndex(f"position {index._positions[-1]} in a segment of {log_bytes} bytes")
        return index

    @staticmethod
    def read_last(base: Offset, raw: bytes) -> tuple[Offset, int]:
        """(last offset, position) from the last bytes of an index file."""
        relative, position = _ENTRY.unpack(raw)
        return base + relative, position

    def is_ordered(self) -> bool:
        """Slow for a large index, and not needed to find a batch: an entry is compared before it is used."""
        return all(
            numbers[0] >= 0 and all(below < above for below, above in pairwise(numbers))
            for numbers in (self.relatives, self._positions)
            if numbers
        )

    def dump(self, first: int = 0) -> bytes:
        """The entries from number `first` on, as they are in the file."""
        relatives, positions = self.relatives[first:], self._positions[first:]
        both = array("i", bytes(ENTRY_BYTES * len(relatives)))
        both[0::2], both[1::2] = relatives, positions
        if sys.byteorder == "little":
            both.byteswap()
        return both.tobytes()

    def __len__(self) -> int:
        return len(self.relatives)

    def add(self, last_offset: Offset, position: int) -> None:
        self.relatives.append(last_offset - self._base)
        self._positions.append(position)

    def at_or_below(self, offset: Offset) -> tuple[Offset, int] | None:
        """(last offset, position) of the last indexed batch that ends at or below `offset`."""
        return self._entry(bisect_right(self.relatives, offset - self._base) - 1)

    def at_or_before(self, position: int) -> tuple[Offset, int] | None:
        """(last offset, position) of the last indexed batch that starts at or before `position`."""
        return self._entry(bisect_right(self._positions, position) - 1)

    def at_or_after(self, position: int) -> tuple[Offset, int] | None:
        """(last offset, position) of the first indexed batch that starts at or after `position`."""
        number = bisect_left(self._positions, position)
        return self._entry(number) if number < len(self._positions) else None

    @property
    def last(self) -> tuple[Offset, int] | None:
        return self._entry(len(self.relatives) - 1)

    def _entry(self, number: int) -> tuple[Offset, int] | None:
        if number < 0:
            return None
        return self._base + self.relatives[number], self._positions[number]

    def truncate(self, position: int) -> None:
        """Forget the batches that start at or after `position`."""
        kept = bisect_right(self._positions, position - 1)
        del self.relatives[kept:], self._positions[kept:]
