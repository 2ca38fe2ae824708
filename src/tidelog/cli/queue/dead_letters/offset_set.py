"""A set of offsets as disjoint ranges: a million neighbours cost as much as two. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

Ranges = tuple[tuple[int, int], ...]
"""First and last offsets, ascending and apart."""


class OffsetSet:
    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._ends: list[int] = []

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self._firsts, offset) - 1
        return at >= 0 and offset < self._ends[at]

    def meets(self, first: int, last: int) -> bool:
        """Whether any offset of the range is in the set."""
        at = bisect_right(self._firsts, last) - 1
        return at >= 0 and first < self._ends[at]

    def add(self, first: int, last: int) -> None:
        end = last + 1
        low, high = bisect_left(self._ends, first), bisect_right(self._firsts, end)
        if low < high:
            first, end = min(first, self._firsts[low]), max(end, self._ends[high - 1])
        self._firsts[low:high], self._ends[low:high] = [first], [end]

    def remove(self, first: int, last: int) -> None:
        end = last + 1
        low, high = bisect_right(self._ends, first), bisect_left(self._firsts, end)
        if low >= high:
            return
        kept = [(self._firsts[low], first), (end, self._ends[high - 1])]
        kept = [(start, stop) for start, stop in kept if start < stop]
        self._firsts[low:high] = [start for start, _ in kept]
        self._ends[low:high] = [stop for _, stop in kept]


def ranges_of(offsets: Iterable[int]) -> Ranges:
    """Ascending offsets, neighbours joined."""
    found: list[tuple[int, int]] = []
    for offset in offsets:
        if found and found[-1][1] == offset - 1:
            found[-1] = (found[-1][0], offset)
        else:
            found.append((offset, offset))
    return tuple(found)


def offsets_of(ranges: Sequence[tuple[int, int]]) -> Iterator[int]:
    for first, last in ranges:
        yield from range(first, last + 1)


def count_of(ranges: Sequence[tuple[int, int]]) -> int:
    return sum(last - first + 1 for first, last in ranges)
