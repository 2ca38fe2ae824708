"""Delayed retries: when released records are available again.

The window has a bit for each delayed record; the times are runs in a heap. A record is delayed until its time
has come or retention deletes it: no entry of the heap is left over from an earlier delay.
"""

import heapq
from typing import NamedTuple

from tidelog.base.ids import Offset, TimestampMs


class Delay(NamedTuple):
    available_at: TimestampMs
    first: Offset
    last: Offset


class Delays:
    def __init__(self) -> None:
        self._heap: list[Delay] = []
        self.unsaved: list[Delay] = []
        """In the order of their releases: of two for the same record, the later holds."""

    @property
    def next_ms(self) -> TimestampMs | None:
        return self._heap[0].available_at if self._heap else None

    def add(self, delay: Delay) -> None:
        heapq.heappush(self._heap, delay)
        self.unsaved.append(delay)

    def load(self, delay: Delay) -> None:
        """Adds a delay that is saved."""
        heapq.heappush(self._heap, delay)

    def take(self, now_ms: TimestampMs, limit: int) -> list[Delay]:
        """Removes and returns the delays that are over, so many at the most."""
        over: list[Delay] = []
        while self._heap and self._heap[0].available_at <= now_ms and len(over) < limit:
            over.append(heapq.heappop(self._heap))
        return over

    def forget_below(self, start: Offset) -> None:
        """Drops the delays of records that retention deleted."""
        self._heap = [delay for delay in self._heap if delay.last >= start]
        heapq.heapify(self._heap)
        self.unsaved = [delay for delay in self.unsaved if delay.last >= start]

    def within(self, first: Offset, last: Offset) -> list[Delay]:
        """Returns the delays of records within these offsets, in no order."""
        return [delay for delay in self._heap if delay.first <= last and delay.last >= first]

    def take_unsaved(self) -> list[Delay]:
        unsaved, self.unsaved = self.unsaved, []
        return unsaved

    def not_saved(self, delays: list[Delay]) -> None:
        self.unsaved = delays + self.unsaved
