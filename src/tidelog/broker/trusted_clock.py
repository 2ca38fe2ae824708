"""A clock for what is lost by age: retention, compaction's tombstones, committed offsets, transactional ids.

The wall clock may jump: an operator mistypes a date, a virtual machine resumes, a time server is wrong. A
jump forward must not delete a year of records. So after one this clock goes on from where it was, at the pace
of the monotonic clock, until the wall clock is back, the broker restarts, or the jump has lasted for
`clock.jump.hold.ms`. A jump back deletes nothing, and is believed at once.
"""

import logging
from collections.abc import Callable

from tidelog.base.ids import TimestampMs
from tidelog.base.ports import Clock

TOLERANCE_MS = 60_000
"""Time servers slew, and leap seconds happen: what is less than this is no jump."""

log = logging.getLogger("tidelog.broker.clock")


class TrustedClock:
    """A `Clock` whose `now_ms` does not follow a jump forward."""

    def __init__(self, clock: Clock, elapsed: Callable[[], float], hold_ms: Callable[[], int]) -> None:
        """`elapsed`: seconds that pass, whatever the wall clock says; those of a suspended machine too."""
        self._clock = clock
        self._elapsed = elapsed
        self._hold_ms = hold_ms
        self._offset_ms = clock.now_ms() - elapsed() * 1000
        """Wall clock minus elapsed time, as it was when the wall clock was last believed."""
        self._before_ms: float | None = None
        """The offset before a jump back: a clock that returns to it is right again."""
        self._held_since: float | None = None
        self._held_ms = 0.0
        """The offset that is not believed, as seen last: a clock that jumps again is held anew."""
        self.jumps = 0
        self.last_jump_ms = 0

    @property
    def is_held(self) -> bool:
        """Whether the wall clock has jumped forward, and is not believed yet."""
        return self._held_since is not None

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def now_ms(self) -> TimestampMs:
        wall, elapsed = self._clock.now_ms(), self._elapsed()
        offset = wall - elapsed * 1000
        ahead = offset - self._offset_ms
        if -TOLERANCE_MS <= ahead <= TOLERANCE_MS:
            if self._held_since is not None:
                self._held_since = None
                log.warning("the clock is back: what expires by age follows it again")
        elif ahead < 0:
            self._jumped(ahead)
            log.warning(
                "the clock jumped back by %.0f s: what expires by age is kept longer. Check the time service",
                -ahead / 1000,
            )
            self._held_since, self._before_ms = None, self._offset_ms
        elif not self._is_believed(offset, ahead, elapsed):
            return TimestampMs(int(elapsed * 1000 + self._offset_ms))
        self._offset_ms = offset
        return wall

    def _is_believed(self, offset: float, ahead: float, elapsed: float) -> bool:
        """Whether a jump forward is over: it took back an earlier jump, or it has lasted for long enough."""
        hold_ms = self._hold_ms()
        is_another = abs(offset - self._held_ms) > TOLERANCE_MS
        self._held_ms = offset
        if self._held_since is None or is_another:
            self._jumped(ahead)
            if self._before_ms is not None and abs(offset - self._before_ms) <= TOLERANCE_MS:
                self._before_ms = None
                log.warning("the clock is back: what expires by age follows it again")
                return True
            self._held_since = elapsed
            if hold_ms:
                log.error(
                    "the clock jumped forward by %.0f s: retention, compaction, committed offsets and "
                    "transactions keep to the time before it, so that nothing is deleted too early. Set the "
                    "clock right; or, if it is right now, restart the broker, or wait: the new time is "
                    "believed in %.0f s (clock.jump.hold.ms)",
                    *(ahead / 1000, hold_ms / 1000),
                )
        if (elapsed - self._held_since) * 1000 < hold_ms:
            return False
        self._held_since = None
        log.warning(
            "the clock is believed after its jump of %.0f s: what expires by age follows", ahead / 1000
        )
        return True

    def _jumped(self, by_ms: float) -> None:
        self.jumps += 1
        self.last_jump_ms = int(by_ms)
