"""One cap on the request and response bytes that all connections hold together.

A frame that needs memory of its own claims its whole announced size before it goes on, so that every frame
that was admitted can be finished, and the cap holds. Others wait in line, and memory that is given back goes
to the oldest first. Small, large and huge frames wait in separate lines, and the larger ones may fill less of
the memory: large frames never hold up ordinary requests.

If a frame waits for long, admitted frames that do not arrive lose their connections. Beginnings of waiting
frames hold memory, too; if that alone blocks every frame, the connections with the largest ones are closed.
"""

from collections import OrderedDict
from typing import NamedTuple, Protocol

LARGE_FRAME_BYTES = 128 * 1024
HUGE_FRAME_BYTES = 16 * 1024 * 1024
BATCH_BYTES = 1024 * 1024
BATCH_BYTES_PER_SECOND_MIN = 64 * 1024
"""While others wait, an admitted frame that arrives more slowly loses its connection. Low, because an
ordinary batch may come over a slow, shared line, where every retry would fail as well."""
BYTES_PER_SECOND_MIN = 256 * 1024
"""For the bytes beyond a batch: slow lines do not get to hold much memory."""


def seconds_for(frame_size: int) -> float:
    """Returns how long a frame may take to arrive while others wait."""
    batch = min(frame_size, BATCH_BYTES)
    return batch / BATCH_BYTES_PER_SECOND_MIN + (frame_size - batch) / BYTES_PER_SECOND_MIN


class Waiter(Protocol):
    @property
    def begun_bytes(self) -> int:
        """The bytes of its frame that have arrived and are in memory."""
        ...

    def memory_granted(self, count: int) -> None:
        """`count` bytes are yours and already counted; go on."""
        ...

    def is_late(self, now: float, deadline: float) -> bool:
        """Returns whether it reads and its frame is overdue: past `deadline`, or no byte came lately."""
        ...

    def memory_overdue(self) -> None:
        """Other frames need the memory: close, and give everything back."""
        ...


class _Claim(NamedTuple):
    bytes: int
    frame_size: int
    since: float  # when it began to wait, or was admitted
    line: "_Line"


class _Line:
    """Frames of one kind: those that wait, oldest first, and the number of those admitted."""

    __slots__ = ("frames_admitted", "limit", "waiting")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.waiting: OrderedDict[Waiter, _Claim] = OrderedDict()
        self.frames_admitted = 0

    @property
    def head(self) -> _Claim:
        return next(iter(self.waiting.values()))


class MemoryBudget:
    def __init__(self, limit: int, patience_seconds: float, stall_seconds: float) -> None:
        self.limit = limit
        self.held = 0
        self.half = limit // 2
        self._patience = patience_seconds
        self._stall_seconds = stall_seconds
        self._small, self._large, self._huge = _Line(limit), _Line(limit * 3 // 4), _Line(self.half)
        self._lines = (self._small, self._large, self._huge)
        self._admitted: dict[Waiter, _Claim] = {}
        self._now = 0.0  # as of the last tick: when claims are granted

    def resize(self, limit: int) -> None:
        """From now on; frames that were admitted keep what they have."""
        self.limit, self.half = limit, limit // 2
        for line, share in zip(self._lines, (limit, limit * 3 // 4, self.half), strict=True):
            line.limit = share
        self._grant()

    @property
    def exhausted(self) -> bool:
        return self.held >= self.limit

    @property
    def waiting(self) -> int:
        return sum(len(line.waiting) for line in self._lines)

    def change(self, count: int) -> None:
        """Count bytes that are held already (positive) or given back (negative)."""
        self.held += count
        if count < 0 and (self._small.waiting or self._large.waiting or self._huge.waiting):
            self._grant()

    def take(self, waiter: Waiter, count: int, frame_size: int, now: float) -> bool:
        """Claim `count` bytes for a frame of `frame_size`; False puts the waiter in line."""
        line = self._line_for(frame_size)
        claim = _Claim(count, frame_size, now, line)
        if not line.waiting and self._fits(claim):  # no overtaking
            self._admit(waiter, claim, now)
            return True
        line.waiting[waiter] = claim
        return False

    def frame_arrived(self, waiter: Waiter) -> None:
        """The waiter's frame is complete: it wants no more room. What it holds is counted with `change`."""
        self.leave_line(waiter)
        claim = self._admitted.pop(waiter, None)
        if claim is not None:
            claim.line.frames_admitted -= 1

    def leave_line(self, waiter: Waiter) -> None:
        """The waiter can go on without being granted anything."""
        for line in self._lines:
            line.waiting.pop(waiter, None)

    def forget(self, waiter: Waiter) -> None:
        """The waiter is gone; what it held must be given back with `change`."""
        self.frame_arrived(waiter)

    def tick(self, now: float) -> None:
        self._now = now
        self._grant()
        if not self._is_short(now):
            return
        for waiter, claim in tuple(self._admitted.items()):
            deadline = claim.since + self._stall_seconds + seconds_for(claim.frame_size)
            if waiter in self._admitted and waiter.is_late(now, deadline):
                waiter.memory_overdue()
        if not self._admitted:
            self._drop_beginnings()

    def _is_short(self, now: float) -> bool:
        return any(line.waiting and now - line.head.since >= self._patience for line in self._lines)

    def _drop_beginnings(self) -> None:
        """No frame can be finished: if the beginnings of waiting frames cause that, close the largest."""
        waiting = [pair for line in self._lines for pair in line.waiting.items()]
        # The oldest of the smallest kind goes on first.
        begun = sum(waiter.begun_bytes for waiter, _ in waiting[1:])
        if not waiting or not self._fits(waiting[0][1], self.held - begun):
            return
        for waiter, _ in sorted(waiting[1:], key=lambda pair: -pair[1].frame_size):
            if self._admitted:
                return
            waiter.memory_overdue()

    def _line_for(self, frame_size: int) -> _Line:
        if frame_size > HUGE_FRAME_BYTES:
            return self._huge
        return self._large if frame_size > LARGE_FRAME_BYTES else self._small

    def _fits(self, claim: _Claim, held: int | None = None) -> bool:
        """Within the share of its line, or alone in it: otherwise a huge one might wait for ever."""
        total = (self.held if held is None else held) + claim.bytes
        return total <= claim.line.limit or (total <= self.limit and not claim.line.frames_admitted)

    def _admit(self, waiter: Waiter, claim: _Claim, now: float) -> None:
        self.held += claim.bytes
        self._admitted[waiter] = claim._replace(since=now)
        claim.line.frames_admitted += 1

    def _grant(self) -> None:
        for line in self._lines:
            while line.waiting and self._fits(line.head):
                waiter, claim = line.waiting.popitem(last=False)
                self._admit(waiter, claim, self._now)
                waiter.memory_granted(claim.bytes)
