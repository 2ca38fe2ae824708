"""The real clock and the real randomness behind the ports."""

import os
import secrets
import time

from tidelog.base.ids import TimestampMs
from tidelog.base.ports import Clock, Random

_ELAPSED = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    __slots__ = ()

    def now_ms(self) -> TimestampMs:
        return TimestampMs(time.time_ns() // 1_000_000)

    def monotonic(self) -> float:
        return time.monotonic()


def elapsed_seconds() -> float:
    """Time that passes, also while the machine sleeps; the monotonic clock of Linux stands still then."""
    return time.clock_gettime(_ELAPSED)


class SystemRandom:
    """From the kernel: ids and tokens made of it cannot be guessed."""

    __slots__ = ()

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def below(self, limit: int) -> int:
        return secrets.randbelow(limit)


def _check(clock: SystemClock, random: SystemRandom) -> tuple[Clock, Random]:
    return clock, random  # mypy proves here that they fill the ports
