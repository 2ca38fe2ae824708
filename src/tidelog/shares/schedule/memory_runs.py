"""Sorted runs in memory, the run with the earliest time first."""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from tidelog.base.ids import TimestampMs
from tidelog.shares.schedule.entries import ENTRY_BYTES, due_ms_at, end_of


class MemoryRuns:
    __slots__ = ("_heap", "size")

    def __init__(self) -> None:
        self._heap: list[bytes] = []
        """Bytes of runs compare as their first entries do."""
        self.size = 0

    @property
    def head_ms(self) -> TimestampMs | None:
        return due_ms_at(self._heap[0]) if self._heap else None

    def append(self, run: bytes) -> None:
        heappush(self._heap, run)
        self.size += len(run)

    def take(self, until_ms: TimestampMs, bytes_max: int) -> bytes:
        if not self._heap or due_ms_at(self._heap[0]) > until_ms:
            return b""
        run = heappop(self._heap)
        length = min(end_of(run, until_ms), bytes_max)
        if length < len(run):
            heappush(self._heap, run[length:])
        self.size -= length
        return run[:length]

    def latest(self, count: int) -> list[bytes]:
        """The runs whose first entries come last. `drop_latest` takes them out."""
        self._heap.sort()
        return self._heap[-count:]

    def drop_latest(self, count: int) -> None:
        self.size -= sum(map(len, self._heap[-count:]))
        del self._heap[-count:]

    def forget_latest(self) -> TimestampMs:
        """Keep about the earlier half of the entries. Returns a time from which on there are none."""
        step = max(1, len(self._heap) // 64)
        middles = sorted(
            due_ms_at(run, len(run) // ENTRY_BYTES // 2 * ENTRY_BYTES) for run in self._heap[::step]
        )
        until_ms = middles[len(middles) // 2]
        self._replace(run[: end_of(run, until_ms - 1)] for run in self._heap)
        return until_ms

    def clear(self) -> None:
        self._replace(())

    def _replace(self, runs: Iterable[bytes]) -> None:
        self._heap = [run for run in runs if run]
        heapify(self._heap)
        self.size = sum(map(len, self._heap))
