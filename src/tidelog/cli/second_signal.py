"""Whether a person who asks to stop asks once more, for at once.

`timeout`, process managers and shells may deliver one wish as two signals; people are not that quick.
"""

from enum import Enum, auto

ECHO_S = 0.5


class Asked(Enum):
    FIRST = auto()
    ECHO = auto()
    """The same wish, delivered twice."""
    AGAIN = auto()


class Insistence:
    def __init__(self) -> None:
        self._first: float | None = None

    def asked(self, now: float) -> Asked:
        if self._first is None:
            self._first = now
            return Asked.FIRST
        return Asked.ECHO if now - self._first < ECHO_S else Asked.AGAIN
