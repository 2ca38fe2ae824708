"""Raises an error in a consumer that has polled for long and never reached a broker.

`poll` cannot tell an empty topic from brokers that are down: both return nothing. Before the first contact
nothing works yet, so an error does no harm; after it an outage passes, and the consumer resumes where it was.
"""

import time
from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException

from tidelog.clients.connection import Connection
from tidelog.clients.errors import ConnectionFailed

LAST_LOOK_S = 1.0


class FirstContact:
    def __init__(
        self,
        connection: Connection,
        limit_s: float,
        look: Callable[[float], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`look` asks any broker anything, within the seconds that it gets."""
        self._connection = connection
        self._limit_s = limit_s
        self._look = look
        self._now = now
        self._since: float | None = None

    def check(self) -> None:
        """After a poll that gave nothing: raises at once where waiting is in vain, else once per limit."""
        if self._connection.reached:
            return
        self._connection.check()
        now = self._now()
        if self._since is None:
            self._since = now
        if now - self._since < self._limit_s:
            return
        self._since = None
        if self._is_there():
            self._connection.reached = True
            return
        raise self._connection.explained(
            ConnectionFailed(
                f"No broker was reached at {self._connection.servers} within {self._limit_s:g} s.",
                retriable=True,
            )
        )

    def _is_there(self) -> bool:
        """An idle consumer hears nothing of the brokers, so they are asked."""
        try:
            self._look(LAST_LOOK_S)
        except KafkaException as error:
            inner = error.args[0] if error.args else None
            return isinstance(inner, KafkaError) and inner.code() == KafkaError._TIMED_OUT  # there, but slow
        return True
