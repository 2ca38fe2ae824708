"""Retries until a deadline: `Attempts("offsets of events-0", limits).run(ask)`.

Errors that may pass (a lost connection, a retriable code) are retried after growing pauses. The error after
the last attempt says how long it tried, and what failed last.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tidelog.base.errors import KafkaError
from tidelog.blocking.errors import BrokersUnreachable, Disconnected, GaveUp, NoBroker

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """In seconds; defaults are those of the Java client."""

    connect_s: float = 10.0
    request_s: float = 30.0
    total_s: float = 60.0
    """For a call with all its retries (default.api.timeout.ms)."""
    pause_s: float = 0.1
    pause_max_s: float = 1.0


def may_pass(error: Exception) -> bool:
    return isinstance(error, Disconnected) or (isinstance(error, KafkaError) and error.code.retriable)


class Attempts:
    def __init__(
        self,
        what: str,
        limits: Limits,
        *,
        between: Callable[[Exception], None] | None = None,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`between` runs after each failure, before the pause: to forget what may be outdated."""
        self._what, self._limits, self._between = what, limits, between
        self._now, self._sleep = now, sleep
        self.begin()

    def begin(self) -> None:
        """Start the time anew: something succeeded."""
        self._deadline = self._now() + self._limits.total_s
        self._pause_s = self._limits.pause_s

    @property
    def left_s(self) -> float:
        return max(0.0, self._deadline - self._now())

    def run(self, action: Callable[[], T]) -> T:
        while True:
            try:
                return action()
            except Exception as error:
                self.failed(error)

    def failed(self, error: Exception) -> None:
        """Wait before the next attempt, or raise where there is none."""
        if not may_pass(error):
            raise error
        if self.left_s <= self._pause_s:
            raise self._given_up(error) from error
        if self._between is not None:
            self._between(error)
        # Many tasks fail at once when a broker dies; they need not come back at once.
        self._sleep(min(self._pause_s * random.uniform(0.8, 1.2), self.left_s))
        self._pause_s = min(2 * self._pause_s, self._limits.pause_max_s)

    def _given_up(self, failure: Exception) -> Exception:
        seconds = f"{self._limits.total_s:g} s"
        if isinstance(failure, NoBroker):
            return BrokersUnreachable(
                f"no broker answered within {seconds} ({failure}). Check that the brokers run and that "
                "bootstrap.servers names them; `tidelog -b HOST:PORT topic list` asks the same broker"
            )
        return GaveUp(f"{self._what}: no success within {seconds}; the last attempt: {failure}")
