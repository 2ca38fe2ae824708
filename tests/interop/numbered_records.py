"""Numbers go to the partitions of one topic in turn and come back: none is missing, none comes twice."""

from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

TOPIC, PARTITIONS = "orders", 8


def leaders(servers: str) -> list[int]:
    found = AdminClient({"bootstrap.servers": servers}).list_topics(TOPIC, timeout=10).topics[TOPIC]
    return [partition.leader for partition in found.partitions.values()]


def send(servers: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "enable.idempotence": True})
    failed: list[Any] = []
    for number in numbers:
        producer.produce(
            TOPIC,
            str(number),
            partition=number % PARTITIONS,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
    assert producer.flush(60) == 0
    assert failed == []


def read_all(servers: str, group: str, count: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    found: list[int] = []
    try:
        for _ in range(600):
            for message in consumer.consume(500, 0.1):
                assert message.error() is None
                found.append(int(message.value()))
            if len(found) >= count:
                break
    finally:
        consumer.close()
    return sorted(found)
