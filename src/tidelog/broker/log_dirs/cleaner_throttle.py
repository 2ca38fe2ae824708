"""Limits the rate of compaction, all threads together, and stops a compaction that is no longer needed.

It also adds short pauses: decoding records holds the interpreter's lock, and without short pauses every turn
of the event loop would wait for the lock's switch interval of 5 ms.
"""

import sys
import threading
from collections.abc import Callable

from tidelog.base.errors import TidelogError
from tidelog.base.ports import Clock

_WAIT_SECONDS_MIN = 0.01
"""Shorter waits are saved up: a batch is small, and waking a thread is not free."""
_BREATH_BYTES = 16 * 1024
_BREATH_SECONDS = 0.00005


class CompactionStopped(TidelogError):
    """The broker stops, or the partition was removed: the compaction ends here."""


class CleanerThrottle:
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
        """The throttle of one compaction; it raises CompactionStopped once `stop` is set."""

        unbreathed = 0

        def throttle(count: int) -> None:
            nonlocal unbreathed
            delay = self.delay(count)
            unbreathed += count
            if delay < _WAIT_SECONDS_MIN:
                delay = 0.0
                if unbreathed >= _BREATH_BYTES:
                    delay, unbreathed = _BREATH_SECONDS, 0
            if stop.is_set() or (delay and stop.wait(delay)):
                raise CompactionStopped

        return throttle
