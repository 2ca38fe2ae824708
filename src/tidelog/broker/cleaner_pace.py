"""Keeps compaction to its rate, all threads together, and stops it when it is no longer wanted."""

import sys
import threading
from collections.abc import Callable

from tidelog.base.errors import TidelogError
from tidelog.base.ports import Clock

_WAIT_SECONDS_MIN = 0.01
"""Shorter waits are saved up: a batch is small, and waking a thread is not free."""


class CompactionStopped(TidelogError):
    """The broker stops, or the partition went away: the compaction ends here."""


class CleanerPace:
    """One for all compactions of a broker."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._free_at = 0.0
        self.bytes_per_second = sys.float_info.max

    def delay(self, count: int) -> float:
        """Book `count` bytes; how many seconds to wait before they may be read or written."""
        rate = self.bytes_per_second
        if rate >= sys.maxsize:
            return 0.0
        with self._lock:
            now = self._clock.monotonic()
            start = max(now, self._free_at)
            self._free_at = start + count / rate
            return start - now

    def of(self, stop: threading.Event) -> Callable[[int], None]:
        """The pace of one compaction; it raises CompactionStopped once `stop` is set."""

        def pace(count: int) -> None:
            delay = self.delay(count)
            if stop.is_set() or (delay >= _WAIT_SECONDS_MIN and stop.wait(delay)):
                raise CompactionStopped

        return pace
