"""One heap of timers for all of a shard, so that a hundred thousand sessions cost no task each.

Moving a timer to a later time, which every heartbeat and commit does, is one assignment: the heap keeps the
old entry, and puts it back in its place when it comes up.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

StepT = TypeVar("StepT")

_TIDY_FROM = 1024
"""Below this many entries, cancelled ones are left to fall out by themselves."""


class Timer(Generic[StepT]):
    """A moment in the future. Not running while `deadline` is None."""

    __slots__ = ("_timers", "action", "deadline", "queued")

    def __init__(self, timers: "Timers[StepT]", action: Callable[[StepT], None]) -> None:
        self._timers = timers
        self.action = action
        self.deadline: float | None = None
        self.queued: float | None = None
        """The entry of the heap that stands for this timer; never later than its deadline."""

    def start(self, deadline: float) -> None:
        """Run at `deadline`; replaces an earlier deadline."""
        if self.deadline is None and self.queued is not None:
            self._timers.revived()
        self.deadline = deadline
        if self.queued is None or deadline < self.queued:
            self.queued = deadline
            self._timers.push(deadline, self)

    def cancel(self) -> None:
        if self.deadline is not None:
            self.deadline = None
            self._timers.cancelled()


class Timers(Generic[StepT]):
    __slots__ = ("_cancelled", "_heap", "_order")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer[StepT]]] = []
        self._order = count()  # equal deadlines run in the order they were set
        self._cancelled = 0

    def __len__(self) -> int:
        """The number of entries in the heap, including stale ones."""
        return len(self._heap)

    def timer(self, action: Callable[[StepT], None]) -> Timer[StepT]:
        return Timer(self, action)

    @property
    def next_deadline(self) -> float | None:
        heap = self._heap
        while heap:
            deadline, _, timer = heap[0]
            if timer.deadline == timer.queued == deadline:
                return deadline
            heappop(heap)
            if timer.queued != deadline:
                continue  # an entry from before the timer was moved forward
            timer.queued = timer.deadline
            if timer.deadline is None:
                self._cancelled -= 1
            else:
                self.push(timer.deadline, timer)
        return None

    def pop_due(self, now: float) -> Timer[StepT] | None:
        """Returns the earliest expired timer, stopped; None when there is no more."""
        deadline = self.next_deadline
        if deadline is None or deadline > now:
            return None
        timer = heappop(self._heap)[2]
        timer.deadline = timer.queued = None
        return timer

    def push(self, deadline: float, timer: Timer[StepT]) -> None:
        heappush(self._heap, (deadline, next(self._order), timer))

    def revived(self) -> None:
        self._cancelled -= 1

    def cancelled(self) -> None:
        self._cancelled += 1
        if self._cancelled > _TIDY_FROM and 2 * self._cancelled > len(self._heap):
            self._tidy()

    def _tidy(self) -> None:
        kept = []
        for entry in self._heap:
            deadline, _, timer = entry
            if timer.deadline is None:
                timer.queued = None
            elif timer.queued == deadline:
                kept.append(entry)
        heapify(kept)
        self._heap = kept
        self._cancelled = 0
