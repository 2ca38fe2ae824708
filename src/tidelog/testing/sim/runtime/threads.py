"""Disk threads on virtual time: a job takes as long as the simulated disk needs for it.

It happens all at once, at its beginning or at its end as the seed decides: a sync may or may not cover
what is written while it is under way, and a crash in between may or may not find it done.
"""

import asyncio
import math
import random
from collections.abc import Callable
from typing import Any, TypeVar

from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.testing.sim.runtime.memory_disk import PowerCut

T = TypeVar("T")
JobResult = tuple[Any, Exception | None]


class DiskPace:
    """How slow a machine's disk is; shared by the processes that follow each other on it."""

    __slots__ = ("longest_seconds", "random", "seconds")

    def __init__(self, random: random.Random, seconds: float = 0.002) -> None:
        self.random = random
        self.seconds = seconds
        self.longest_seconds = math.inf

    def next(self) -> float:
        """Most jobs are quick, a few are not."""
        delay = self.random.expovariate(1.0) * self.seconds
        return min(self.longest_seconds, delay * 20 if self.random.random() < 0.02 else delay)


class SimThreads:
    def __init__(self, loop: SimLoop, pace: DiskPace) -> None:
        self._loop = loop
        self._pace = pace
        self._jobs = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    def run(self, job: Callable[[], T]) -> "asyncio.Future[T]":
        if self._closed:
            raise RuntimeError("the disk threads are closed")
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs += 1
        self._idle.clear()
        delay = self._pace.next()
        if self._pace.random.random() < 0.5:
            outcome = _do(job)
            self._loop.call_later(delay, self._finish, future, lambda: outcome)
        else:
            self._loop.call_later(delay, self._finish, future, lambda: _do(job))
        return future

    async def close(self) -> None:
        self._closed = True
        await self._idle.wait()

    def _finish(self, future: "asyncio.Future[Any]", outcome: Callable[[], JobResult]) -> None:
        self._jobs -= 1
        if not self._jobs:
            self._idle.set()
        if future.cancelled():
            return
        result, error = outcome()
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


def _do(job: Callable[[], Any]) -> JobResult:
    try:
        return job(), None
    except PowerCut:
        raise
    except Exception as error:
        return None, error
