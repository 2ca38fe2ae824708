"""Notices syncs that take long: first a line in the log, then others lead what this disk holds up.

With `durability=fsync` a produce request waits for the sync. A disk that hangs for as long as a follower may
lag behind is not in sync either: its replicas are reported as unavailable, until the sync returns.
"""

import logging
from collections.abc import Callable

from tidelog.base.config.config import BrokerConfig
from tidelog.base.ports import Clock
from tidelog.broker.log_dirs.flusher import Flusher
from tidelog.broker.log_dirs.log_dir import LogDir
from tidelog.broker.log_dirs.log_dirs import LogDirs

LOOK_SECONDS = 1.0
QUIET_SECONDS = 60.0
"""Between two lines about one log dir."""

log = logging.getLogger("tidelog.broker.log_dirs")


class SlowSyncs:
    def __init__(
        self, log_dirs: LogDirs, flusher: Flusher, clock: Clock, config: Callable[[], BrokerConfig]
    ) -> None:
        self._log_dirs = log_dirs
        self._flusher = flusher
        self._clock = clock
        self._config = config
        self._logged_at: dict[LogDir, float] = {}

    def run_once(self) -> None:
        config = self._config()
        slow_s, hangs_s = config.int("log.slow.sync.ms") / 1000, config.int("replica.lag.time.max.ms") / 1000
        self._flusher.slow_seconds = slow_s
        for directory, seconds in self._flusher.take_slow():
            if (log_dir := self._log_dir_of(directory)) is not None:
                log_dir.slow_syncs += 1
                self._complain(log_dir, directory, f"took {seconds:.1f} s")
        oldest = self._flusher.oldest()
        ages = {log_dir: age for d, age in oldest if (log_dir := self._log_dir_of(d)) is not None}
        for log_dir in self._log_dirs:
            age = ages.get(log_dir, 0.0)
            if age > slow_s:
                self._complain(log_dir, log_dir.path, f"has taken {age:.1f} s so far")
            if log_dir.hangs is not (age > hangs_s):
                log_dir.hangs = age > hangs_s
                if log_dir.hangs:
                    log.error(
                        "the disk of %s has not finished a sync for %.0f s: other brokers lead its "
                        "partitions if they can, until it does. Look for errors of the disk in the kernel's "
                        "log, and replace it, or stop this broker",
                        *(log_dir.path, age),
                    )
                else:
                    log.warning("the disk of %s syncs again: its replicas catch up", log_dir.path)

    def _complain(self, log_dir: LogDir, what: str, how_long: str) -> None:
        now = self._clock.monotonic()
        if now - self._logged_at.get(log_dir, -QUIET_SECONDS) < QUIET_SECONDS:
            return
        self._logged_at[log_dir] = now
        log.warning(
            "a sync of %s %s, and producers wait for it (log.slow.sync.ms=%d): the disk is overloaded or "
            "failing, look at its latency and at the kernel's log. Further slow syncs are counted in "
            "tidelog_slow_syncs_total, and logged once a minute",
            *(what, how_long, self._config().int("log.slow.sync.ms")),
        )

    def _log_dir_of(self, directory: str) -> LogDir | None:
        return next((one for one in self._log_dirs if one.holds(directory)), None)
