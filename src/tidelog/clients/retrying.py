"""Trying again what failed in passing, within a time: librdkafka then goes on where it was."""

import time
from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException

PAUSE_S = 0.05


def retry_while_passing(
    call: Callable[[float], None],
    limit_s: float,
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """`call` gets the seconds that are left."""
    deadline = now() + limit_s
    while True:
        try:
            return call(max(0.0, deadline - now()))
        except KafkaException as error:
            if not is_passing(error) or now() >= deadline:
                raise
        sleep(PAUSE_S)


def is_passing(error: KafkaException) -> bool:
    inner = error.args[0] if error.args else None
    if not isinstance(inner, KafkaError) or inner.fatal() or inner.txn_requires_abort():
        return False
    return bool(inner.retriable()) or inner.code() == KafkaError._TIMED_OUT
