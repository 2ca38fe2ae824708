"""Measures the free space of each log dir, so that a disk is never filled to its last byte.

A file system may be slow to answer, or not answer at all, so it is asked on a thread, and a log dir that has
not answered is not asked again. `storage/space_reserve.py` decides what the figures mean.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import TidelogError
from tidelog.base.ports import Clock
from tidelog.base.units import size_text
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.log_dirs.log_dir import LogDir
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.broker.log_dirs.space_forecast import SpaceForecast

MEASURE_SECONDS = 1.0
SOON_SECONDS = 3600.0
"""A log dir that is going to refuse records within this time is worth a line in the log."""
NOT_SOON_SECONDS = 2 * SOON_SECONDS

log = logging.getLogger("tidelog.broker.log_dirs")


class SpaceWatch:
    def __init__(
        self,
        log_dirs: LogDirs,
        clock: Clock,
        run_in_thread: RunInThread,
        config: Callable[[], BrokerConfig],
    ) -> None:
        self._log_dirs = log_dirs
        self._clock = clock
        self._run_in_thread = run_in_thread
        self._config = config
        self._forecasts = {log_dir: SpaceForecast() for log_dir in log_dirs}
        self._is_soon: set[LogDir] = set()
        self._asked: dict[LogDir, asyncio.Future[tuple[int, int]]] = {}

    async def run_once(self) -> None:
        for log_dir in self._log_dirs:
            if log_dir.offline is None and log_dir not in self._asked:
                self._ask(log_dir)
        if self._asked:
            await asyncio.wait(self._asked.values(), timeout=MEASURE_SECONDS)

    def seconds_until_refusing(self, log_dir: LogDir) -> float | None:
        """Returns the time until this log dir refuses records at its growth; None: it does not grow."""
        reserve = log_dir.reserve
        forecast = self._forecasts[log_dir]
        return forecast.seconds_until(self._clock.monotonic(), reserve.free_bytes, reserve.reserve_bytes)

    def _ask(self, log_dir: LogDir) -> None:
        try:
            asked = self._run_in_thread(log_dir.space)
        except TidelogError as error:
            log.debug("the space of %s cannot be measured now: %s", log_dir.path, error)
            return
        self._asked[log_dir] = asked
        asked.add_done_callback(partial(self._answered, log_dir))

    def _answered(self, log_dir: LogDir, asked: "asyncio.Future[tuple[int, int]]") -> None:
        del self._asked[log_dir]
        if asked.cancelled() or asked.exception() is not None:
            return
        total, free = asked.result()
        if total < 0:
            return
        reserve = log_dir.reserve
        if reserve.measured(total, free, self._config().int("log.dirs.min.free.bytes")):
            if reserve.is_refusing:
                log.error("clients' records are refused: %s", reserve.why())
            else:
                log.warning(
                    "log dir %s has %s free: clients' records are accepted again",
                    reserve.path,
                    size_text(free),
                )
        self._forecasts[log_dir].add(self._clock.monotonic(), free)
        self._warn(log_dir)

    def _warn(self, log_dir: LogDir) -> None:
        """Once before a disk fills up, and not again before the danger was over."""
        seconds = self.seconds_until_refusing(log_dir)
        if seconds is None or seconds > NOT_SOON_SECONDS:
            self._is_soon.discard(log_dir)
        elif seconds <= SOON_SECONDS and log_dir not in self._is_soon and not log_dir.reserve.is_refusing:
            self._is_soon.add(log_dir)
            log.warning(
                "log dir %s has %s free and reaches its reserve of %s in about %d minutes at the growth of "
                "the last minutes: clients' records are refused then. Lower the retention of large topics, "
                "delete topics, or enlarge the disk",
                *(log_dir.path, size_text(log_dir.reserve.free_bytes)),
                *(size_text(log_dir.reserve.reserve_bytes), seconds // 60),
            )
