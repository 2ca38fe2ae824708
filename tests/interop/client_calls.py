"""What the tests of the Python client do again and again."""

import time
from typing import Any

from tidelog import Consumer, ConsumerConfig, OffsetResetPolicy, Producer, ProducerConfig

NOWHERE = ["127.0.0.1:1"]


def from_start(servers: list[str], **fields: Any) -> ConsumerConfig:
    return ConsumerConfig(
        bootstrap_servers=servers,
        auto_offset_reset=OffsetResetPolicy.EARLIEST,
        fetch_max_wait_ms=50,
        **fields,
    )


def write(servers: list[str], topic: str, *values: str, partition: int = 0) -> None:
    with Producer(ProducerConfig(bootstrap_servers=servers)) as producer:
        for value in values:
            producer.send(topic, value, partition=partition)


def read(consumer: Consumer[Any, Any], count: int, patience_s: float = 20) -> list[Any]:
    messages: list[Any] = []
    deadline = time.monotonic() + patience_s
    while len(messages) < count and time.monotonic() < deadline:
        messages += consumer.poll(timeout_ms=500)
    return messages
