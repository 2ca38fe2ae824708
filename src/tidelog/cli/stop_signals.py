"""Tells the first stop signal from a second one, which means: stop at once.

`timeout`, process managers and shells may deliver one stop as two signals within milliseconds; a person is
slower.
"""

from enum import Enum, auto

ECHO_S = 0.5


class StopSignal(Enum):
    FIRST = auto()
    ECHO = auto()
    """The first signal, delivered twice."""
    SECOND = auto()


class StopSignals:
    def __init__(self) -> None:
        self._first_at: float | None = None

    def receive(self, now: float) -> StopSignal:
        if self._first_at is None:
            self._first_at = now
            return StopSignal.FIRST
        return StopSignal.ECHO if now - self._first_at < ECHO_S else StopSignal.SECOND
