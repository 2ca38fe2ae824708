"""One cap on the request and answer bytes that all connections hold together.

A frame that needs room beyond the cap waits in line; bytes that others give back are granted oldest
first. Half-received frames could hold the whole cap and wait for each other for ever, so the frame
that has waited longest gets the express lane: it may exceed the cap, alone, and must arrive by a
deadline or lose its connection.

Frames above `LARGE_FRAME_BYTES` may fill only three quarters, so that ordinary requests get through
while large ones clog.
"""

from collections import OrderedDict
from typing import Protocol

LARGE_FRAME_BYTES = 128 * 1024


class Waiter(Protocol):
    def memory_granted(self, count: int) -> None:
        """`count` bytes are yours and already counted; go on."""
        ...

    def memory_overdue(self) -> None:
        """The express lane is needed by others: give everything back (close)."""
        ...


class MemoryBudget:
    def __init__(self, limit: int, express_after_seconds: float, express_seconds: float) -> None:
        self.limit = limit
        self.held = 0
        self.large_limit = limit * 3 // 4
        self._express_after = express_after_seconds
        self._express_seconds = express_seconds
        # Waiting frames, oldest first: (bytes wanted, waiting since). Large ones wait apart, so
        # that one that wants 50 MB does not hold up those that want 16 KB.
        self._small: OrderedDict[Waiter, tuple[int, float]] = OrderedDict()
        self._large: OrderedDict[Waiter, tuple[int, float]] = OrderedDict()
        self._express: Waiter | None = None
        self._express_until = 0.0

    @property
    def exhausted(self) -> bool:
        return self.held >= self.limit

    @property
    def waiting(self) -> int:
        return len(self._small) + len(self._large)

    def change(self, count: int) -> None:
        """Count bytes that are held already (positive) or given back (negative)."""
        self.held += count
        if count < 0 and (self._small or self._large):
            self._grant()

    def take(self, waiter: Waiter, count: int, frame_size: int, now: float) -> bool:
        """Claim `count` bytes for a frame of `frame_size`; False puts the waiter in line."""
        large = frame_size > LARGE_FRAME_BYTES
        queue, limit = (self._large, self.large_limit) if large else (self._small, self.limit)
        fits = not queue and self.held + count <= limit  # no overtaking
        if fits or waiter is self._express:
            self.held += count
            return True
        queue[waiter] = (count, now)
        return False

    def frame_arrived(self, waiter: Waiter) -> None:
        """The waiter's frame is complete: it wants no more room; the express lane is free for the next."""
        self.leave_line(waiter)
        if waiter is self._express:
            self._express = None

    def leave_line(self, waiter: Waiter) -> None:
        """The waiter can go on without being granted anything."""
        self._small.pop(waiter, None)
        self._large.pop(waiter, None)

    def forget(self, waiter: Waiter) -> None:
        """The waiter is gone; what it held must be given back with `change`."""
        self.frame_arrived(waiter)

    def tick(self, now: float) -> None:
        if self._express is not None:
            if now < self._express_until:
                return
            late, self._express = self._express, None
            late.memory_overdue()
        self._grant()
        heads = [(*next(iter(queue.items())), queue) for queue in (self._small, self._large) if queue]
        if not heads:
            return
        waiter, (count, since), queue = min(heads, key=lambda head: head[1][1])
        if now - since >= self._express_after:
            del queue[waiter]
            self._express = waiter
            self._express_until = now + self._express_seconds
            self.held += count
            waiter.memory_granted(count)

    def _grant(self) -> None:
        for queue, limit in ((self._small, self.limit), (self._large, self.large_limit)):
            while queue:
                waiter, (count, _) = next(iter(queue.items()))
                if self.held + count > limit:
                    break
                del queue[waiter]
                self.held += count
                waiter.memory_granted(count)
