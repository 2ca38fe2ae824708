"""A set of offsets as disjoint ranges: the part of a partition that an index has seen.

Groups read on from where they are, so a few ranges do. Beyond the limit a range is left out: its records are
then in the index twice, which costs memory and nothing else.
"""

from bisect import bisect_left, bisect_right
from typing import Final

from tidelog.base.ids import Offset

RANGES_MAX: Final = 1024


class OffsetRanges:
    __slots__ = ("_ends", "_firsts")

    def __init__(self) -> None:
        self._firsts: list[Offset] = []
        self._ends: list[Offset] = []

    def __len__(self) -> int:
        return len(self._firsts)

    def has(self, first: Offset, last: Offset) -> bool:
        """Whether all of these offsets are in the set."""
        at = bisect_right(self._firsts, first) - 1
        return at >= 0 and last < self._ends[at]

    def add(self, first: Offset, last: Offset) -> None:
        end = last + 1
        low = bisect_left(self._ends, first)
        high = bisect_right(self._firsts, end)
        if low == high and len(self._firsts) >= RANGES_MAX:
            return
        if low < high:
            first, end = min(first, self._firsts[low]), max(end, self._ends[high - 1])
        self._firsts[low:high] = [first]
        self._ends[low:high] = [end]

    def clear(self) -> None:
        self._firsts.clear()
        self._ends.clear()
