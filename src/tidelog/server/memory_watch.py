"""Keeps the process below its memory limit: a smaller budget for requests, and caches that are given back.

The budget fits the limit from the start (`fitting`). When memory is short all the same, fewer and smaller
requests are read at a time, so that clients wait; the kernel would kill the broker instead.
"""

import ctypes
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tidelog.base.config.config import BrokerConfig
from tidelog.base.units import size_text
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.metrics.page import Page
from tidelog.server.connection.limits import ConnectionLimits
from tidelog.server.memory_limits import MemoryReading, MemorySource

BUDGET_SHARE = 4
"""Requests may hold this part of the limit: the rest is for the interpreter, indexes and answers."""
SHORT_SHARE, ENOUGH_SHARE = 0.9, 0.8
"""Of the limit: from the first on memory is short, below the second no longer."""

log = logging.getLogger("tidelog.server.memory")


class MemoryWatch:
    def __init__(self, source: MemorySource | None) -> None:
        """`source` None: nothing is known of the memory, and nothing is watched."""
        self._source = source
        self._relieve: Callable[[bool], None] = lambda is_short: None
        self.reading: MemoryReading | None = None
        self.is_short = False
        self._is_logged = False

    def fitting(
        self, config: BrokerConfig, rates: Mapping[str | None, float] | None = None, *, cores: int = 1
    ) -> ConnectionLimits:
        """Returns the limits of the configuration, with a budget for requests that fits the memory limit;
        of a machine with several cores the share of one."""
        if self.reading is None and self._source is not None:
            with suppress(OSError):
                self.reading = self._source.read()
        wanted = ConnectionLimits.from_config(config, rates).shared_by(cores)
        limits = fitting(wanted, self.reading, cores)
        if limits is not wanted and self.reading is not None and not self._is_logged:
            self._is_logged = True
            log.warning(
                "requests may hold %s, by the memory limit of %s: queued.max.request.bytes is more",
                *(size_text(limits.held_bytes_max), size_text(self.reading.limit_bytes)),
            )
        return limits

    def begin(self, relieve: Callable[[bool], None]) -> None:
        """From now on `relieve` is called when memory becomes short, and when it is enough again."""
        self._relieve = relieve

    async def run_once(self, run_in_thread: RunInThread) -> None:
        """Reading the figures may take milliseconds on a large machine."""
        if self._source is None:
            return
        try:
            self.measured(await run_in_thread(self._source.read))
        except OSError as error:
            log.debug("the memory in use cannot be read: %s", error)

    def measured(self, reading: MemoryReading) -> None:
        self.reading = reading
        share = reading.used_bytes / reading.limit_bytes
        is_short = reading.is_limit and share >= (ENOUGH_SHARE if self.is_short else SHORT_SHARE)
        if is_short is self.is_short:
            return
        self.is_short = is_short
        self._relieve(is_short)
        figures = size_text(reading.used_bytes), size_text(reading.limit_bytes)
        if is_short:
            log.error(
                "memory is short: %s of %s are in use. Caches are given back, and large requests wait. Raise "
                "the memory limit, or lower queued.max.request.bytes or the number of partitions and "
                "connections",
                *figures,
            )
        else:
            log.warning("memory is enough again: %s of %s are in use", *figures)

    def collect(self, page: Page) -> Iterator[None]:
        from tidelog.metrics.families.faults import MEMORY_LIMIT_BYTES, MEMORY_PRESSURE, MEMORY_USED_BYTES

        page.add(MEMORY_PRESSURE, self.is_short)
        if self.reading is not None:
            page.add(MEMORY_LIMIT_BYTES, self.reading.limit_bytes)
            page.add(MEMORY_USED_BYTES, self.reading.used_bytes)
        yield


def fitting(limits: ConnectionLimits, reading: MemoryReading | None, cores: int = 1) -> ConnectionLimits:
    """Returns limits whose budget for requests, of all cores, is at most a quarter of the memory limit."""
    if reading is None or not reading.is_limit:
        return limits
    held = reading.limit_bytes // BUDGET_SHARE // cores
    if limits.held_bytes_max <= held:
        return limits
    return replace(limits, held_bytes_max=held, frame_bytes_max=min(limits.frame_bytes_max, held))


def give_back_free_memory() -> None:
    """Return free memory of the heap to the system. Call it in a thread."""
    try:
        trim: Any = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # not glibc
        return
    trim(0)
