"""Calls that a group's coordinator answers: asked again while it is only being found or still loading.

The first question about any group makes Kafka create the topic for offsets, and a restarted broker reads it
first; librdkafka hands these moments on as errors.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from tidelog.cli.connection import Cluster

NOT_READY = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
PAUSE_S = 0.1


def ask_groups(
    cluster: Cluster,
    call: Callable[..., dict[str, Any]],
    names: Sequence[str],
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """{group: result or KafkaError}; `call` takes a list of names and gives a future for each."""
    deadline = now() + cluster.session.timeout_s
    answers: dict[str, Any] = {}
    left = list(dict.fromkeys(names))
    while left:
        answers |= cluster.ask(call, left)
        left = [name for name in left if _not_ready(answers[name])]
        if left and now() >= deadline:
            break
        if left:
            sleep(PAUSE_S)
    return {name: answers[name] for name in dict.fromkeys(names)}


def _not_ready(answer: object) -> bool:
    from confluent_kafka import KafkaError

    return isinstance(answer, KafkaError) and answer.name() in NOT_READY
