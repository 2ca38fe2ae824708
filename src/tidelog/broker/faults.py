"""The watches over what goes wrong around a broker: log dirs that fill up, vanish or hang; clocks that jump.

They look once a second, change what the broker accepts, and log one line each way; docs/faults.md lists them.
"""

from collections.abc import Awaitable, Callable, Iterator

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ports import Clock
from tidelog.broker.controller.quorum import Quorum
from tidelog.broker.log_dirs.flusher import Flusher
from tidelog.broker.log_dirs.log_dir import LogDir
from tidelog.broker.log_dirs.log_dir_watch import LogDirWatch
from tidelog.broker.log_dirs.slow_syncs import SlowSyncs
from tidelog.broker.requests.context import Services
from tidelog.broker.trusted_clock import TrustedClock
from tidelog.metrics.page import Page

LOOK_SECONDS = 1.0

Chore = Callable[[], Awaitable[object] | None]


class Faults:
    def __init__(
        self, services: Services, flusher: Flusher, clock: Clock, trusted: TrustedClock, quorum: Quorum
    ) -> None:
        self._partitions = services.partitions
        self._quorum = quorum
        self._flusher = flusher
        self._trusted = trusted
        log_dirs, metadata = services.partitions.log_dirs, services.metadata
        self.log_dirs = LogDirWatch(
            log_dirs, clock, services.run_in_thread, lambda: metadata.config, self._log_dir_failed
        )
        self._slow_syncs = SlowSyncs(log_dirs, flusher, clock, lambda: metadata.config)

    async def look(self) -> None:
        """Before the first request is served."""
        await self.log_dirs.run_once()

    def chores(self) -> dict[str, Chore]:
        """Each by its name, to be called every `LOOK_SECONDS`."""
        return {
            "state of log dirs": self.log_dirs.run_once,
            "slow syncs": self._slow_syncs.run_once,
            "clock": self._look_at_clock,
        }

    def collect(self, page: Page) -> Iterator[None]:
        """The collector of the metrics of faults."""
        # Without metrics these are not needed.
        from tidelog.broker.metrics.log_dirs import collect_log_dirs
        from tidelog.metrics.families.faults import (
            CLOCK_HELD,
            CLOCK_JUMP_SECONDS,
            CLOCK_JUMPS,
            OPEN_FILES_SHORT,
        )

        log_dirs = self._partitions.log_dirs
        yield from collect_log_dirs(page, log_dirs, self.log_dirs)
        page.add(OPEN_FILES_SHORT, sum(log_dir.descriptor_shortages for log_dir in log_dirs), "log")
        page.add(OPEN_FILES_SHORT, self._flusher.postponed, "sync")
        page.add(CLOCK_JUMPS, self._trusted.jumps)
        page.add(CLOCK_JUMP_SECONDS, self._trusted.last_jump_ms / 1000)
        page.add(CLOCK_HELD, self._trusted.is_held)

    def _look_at_clock(self) -> None:
        self._trusted.now_ms()

    def _log_dir_failed(self, log_dir: LogDir, error: OSError) -> None:
        self._partitions.fail_log_dir(log_dir, error)
        if log_dir is self._partitions.log_dirs.first:
            why = f"the log dir of the cluster's metadata is offline: {error}"
            self._quorum.leave(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, why))
