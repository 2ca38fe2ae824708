"""One timer for all share partitions of a broker: locks that end, retries that are due, saves that hang."""

import asyncio
from heapq import heappop, heappush
from itertools import count
from math import inf

from tidelog.base.ports import Clock
from tidelog.broker.shares.led_share import LedShare

PAUSE_SECONDS = 0.01
"""Locks that run out within this time are looked at together."""


class ShareAlarms:
    __slots__ = ("_clock", "_heap", "_next", "_numbers", "_timer")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, LedShare]] = []
        """Has entries that do not count any more: a share partition knows which one does."""
        self._numbers = count()
        self._timer: asyncio.TimerHandle | None = None
        self._next = inf

    def set(self, led: LedShare, at: float) -> None:
        heappush(self._heap, (at, next(self._numbers), led))
        self._schedule()

    def close(self) -> None:
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _schedule(self) -> None:
        at = self._heap[0][0] if self._heap else inf
        if at >= self._next:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._next = at
        delay = max(at - self._clock.monotonic(), PAUSE_SECONDS)
        self._timer = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        self._timer, self._next = None, inf
        now = self._clock.monotonic()
        heap, ringing = self._heap, []
        while heap and heap[0][0] <= now:
            at, number, led = heappop(heap)
            if at == led.armed_at and led.error is None:
                led.armed_at = inf
                ringing.append((at, number, led))
        rest = iter(ringing)
        for _, _, led in rest:
            if led.tick():
                break
        for at, number, led in rest:  # in the next turn they come first
            led.armed_at = at
            heappush(heap, (at, number, led))
        self._schedule()
