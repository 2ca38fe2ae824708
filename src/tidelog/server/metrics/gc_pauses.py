"""Pauses by Python's garbage collection, which stop the loop and every thread of the process."""

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

from tidelog.metrics.families.process import GC_SECONDS
from tidelog.metrics.histogram import Histogram
from tidelog.metrics.page import Page

GENERATIONS = 3


class GcPauses:
    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._began = 0.0
        self._seconds = [Histogram(GC_SECONDS.bounds) for _ in range(GENERATIONS)]

    def start(self) -> None:
        gc.callbacks.append(self.on_collection)

    def stop(self) -> None:
        if self.on_collection in gc.callbacks:
            gc.callbacks.remove(self.on_collection)

    def on_collection(self, phase: str, info: dict[str, Any]) -> None:
        """Called by the collector, thousands of times a minute for the youngest generation."""
        if phase == "start":
            self._began = self._clock()
        else:
            self._seconds[info["generation"]].observe(self._clock() - self._began)

    def collect(self, page: Page) -> Iterator[None]:
        for generation, seconds in enumerate(self._seconds):
            page.add_histogram(GC_SECONDS, seconds, generation)
        yield
