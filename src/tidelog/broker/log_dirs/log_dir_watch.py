"""Looks at each log dir once a second: whether it is there, may be written, answers, and has space left.

A file system may be slow to answer, or not answer at all, so it is asked on a thread, and a log dir that has
not answered is not asked again. `storage/space_reserve.py` decides what its free space means.
"""

import asyncio
import errno
import logging
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import TidelogError
from tidelog.base.ports import Clock
from tidelog.base.units import size_text
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.log_dirs.log_dir import LogDir
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.broker.log_dirs.space_forecast import SpaceForecast

LOOK_SECONDS = 1.0
SOON_SECONDS = 3600.0
"""A log dir that is going to refuse records within this time is worth a line in the log."""
NOT_SOON_SECONDS = 2 * SOON_SECONDS
GONE_LOOKS = 2
"""How often in a row a log dir must be found gone: failing it cannot be taken back without a restart."""
GONE = {errno.ENOENT, errno.ENOTDIR, errno.EROFS, errno.ENODEV, errno.ENXIO, errno.ESTALE}
"""Deleted, unmounted, read-only. Other errors, such as too few descriptors, say nothing about the log dir."""

Failed: TypeAlias = Callable[[LogDir, OSError], None]
Space: TypeAlias = tuple[int, int]

log = logging.getLogger("tidelog.broker.log_dirs")


class LogDirWatch:
    def __init__(
        self,
        log_dirs: LogDirs,
        clock: Clock,
        run_in_thread: RunInThread,
        config: Callable[[], BrokerConfig],
        failed: Failed,
    ) -> None:
        self._log_dirs = log_dirs
        self._clock = clock
        self._run_in_thread = run_in_thread
        self._config = config
        self._failed = failed
        self._forecasts = {log_dir: SpaceForecast() for log_dir in log_dirs}
        self._is_soon: set[LogDir] = set()
        self._gone: dict[LogDir, int] = {}
        self._asked: dict[LogDir, asyncio.Future[Space]] = {}

    async def run_once(self) -> None:
        for log_dir in self._log_dirs:
            if log_dir.offline is None and log_dir not in self._asked:
                self._ask(log_dir)
        if self._asked:
            await asyncio.wait(self._asked.values(), timeout=LOOK_SECONDS)

    def seconds_until_refusing(self, log_dir: LogDir) -> float | None:
        """Returns the time until this log dir refuses records at its growth; None: it does not grow."""
        reserve = log_dir.reserve
        forecast = self._forecasts[log_dir]
        return forecast.seconds_until(self._clock.monotonic(), reserve.free_bytes, reserve.reserve_bytes)

    def _ask(self, log_dir: LogDir) -> None:
        try:
            asked = self._run_in_thread(log_dir.files.look)
        except TidelogError as error:
            log.debug("%s cannot be looked at now: %s", log_dir.path, error)
            return
        self._asked[log_dir] = asked
        asked.add_done_callback(partial(self._answered, log_dir))

    def _answered(self, log_dir: LogDir, asked: "asyncio.Future[Space]") -> None:
        del self._asked[log_dir]
        if asked.cancelled():
            return
        error = asked.exception()
        if error is None:
            self._gone.pop(log_dir, None)
            self._measured(log_dir, *asked.result())
        elif isinstance(error, OSError) and error.errno in GONE:
            self._gone[log_dir] = self._gone.get(log_dir, 0) + 1
            if self._gone[log_dir] >= GONE_LOOKS and log_dir.offline is None:
                self._failed(log_dir, error)
        else:
            log.debug("%s could not be looked at: %s", log_dir.path, error)

    def _measured(self, log_dir: LogDir, total: int, free: int) -> None:
        reserve = log_dir.reserve
        if reserve.measured(total, free, self._config().int("log.dirs.min.free.bytes")):
            if reserve.is_refusing:
                log.error("clients' records are refused: %s", reserve.why())
            else:
                log.warning(
                    "log dir %s has %s free: clients' records are accepted again",
                    *(reserve.path, size_text(free)),
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
