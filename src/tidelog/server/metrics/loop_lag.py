"""How late the event loop runs what is due: a timer that looks at the clock a few times a second."""

import asyncio
import time
from collections.abc import Callable, Iterator

from tidelog.metrics.families.process import LOOP_LAG_SECONDS
from tidelog.metrics.histogram import Histogram
from tidelog.metrics.page import Page

INTERVAL_SECONDS = 0.1


class LoopLag:
    def __init__(
        self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._loop = loop
        self._clock = clock
        self._seconds = Histogram(LOOP_LAG_SECONDS.bounds)
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._due = self._clock() + INTERVAL_SECONDS
        self._timer = self._loop.call_later(INTERVAL_SECONDS, self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def collect(self, page: Page) -> Iterator[None]:
        page.add_histogram(LOOP_LAG_SECONDS, self._seconds)
        yield

    def _look(self) -> None:
        self._seconds.observe(max(0.0, self._clock() - self._due))
        self.start()
