"""Long work on the event loop, in short turns."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

TURN_SECONDS = 0.001
"""Well below what a producer notices, and long enough that changing turns costs little itself."""

ItemT = TypeVar("ItemT")


class Turns:
    def __init__(self, seconds: float = TURN_SECONDS, clock: Callable[[], float] = time.thread_time) -> None:
        """`clock` counts the CPU time of the thread: what other processes take is no reason for a pause."""
        self._seconds = seconds
        self._clock = clock
        self.busy_seconds = 0.0
        """The CPU time of all turns together."""

    async def run(self, steps: Iterable[ItemT]) -> list[ItemT]:
        """Returns what the steps yield. Once a turn is over, the loop does its other work before the next."""
        clock, seconds = self._clock, self._seconds
        items: list[ItemT] = []
        began = clock()
        for item in steps:
            items.append(item)
            now = clock()
            if now - began >= seconds:
                self.busy_seconds += now - began
                await asyncio.sleep(0)
                began = clock()
        self.busy_seconds += clock() - began
        return items
