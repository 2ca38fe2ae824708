"""What the generators of the examples make, and how it gets into topics."""

import json
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from tidelog import Producer, ProducerConfig


class Event(NamedTuple):
    at: datetime
    topic: str
    key: str
    value: bytes


def event(at: datetime, topic: str, key: str, /, **fields: Any) -> Event:
    """One with a JSON value; times are written as ISO text."""
    plain = {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in fields.items()
    }
    return Event(at, topic, key, json.dumps(plain).encode())


def paced(events: Iterable[Event]) -> Iterator[Event]:
    """Each at the moment that it speaks of."""
    for made in events:
        time.sleep(max(0.0, made.at.timestamp() - time.time()))
        yield made


def write(servers: str, events: Iterable[Event]) -> int:
    """All of them, in their order; how many there were."""
    count = 0
    with Producer(ProducerConfig(bootstrap_servers=servers.split(","))) as producer:
        for made in events:
            producer.send(made.topic, key=made.key, value=made.value)
            count += 1
    return count
