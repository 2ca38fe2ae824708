"""A librdkafka consumer that holds a script instead of connections."""

import threading
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as Raw


def raw(partition: int, offset: int, value: bytes = b"v") -> Any:
    return Raw(topic="t", partition=partition, offset=offset, value=value, timestamp=(1, 99))


class FakeConsumer:
    def __init__(self, properties: dict[str, Any]) -> None:
        self.properties = properties
        self.messages: list[Any] = []
        self.assigned: dict[tuple[str, int], int] = {}
        self.paused: set[tuple[str, int]] = set()
        self.stored: dict[tuple[str, int], int] = {}
        self.group_offsets: dict[tuple[str, int], int] = {}
        self.watermarks = (0, 100)
        self.listeners: dict[str, Any] = {}
        self.next_rebalance: tuple[str, list[TopicPartition]] | None = None
        self.seek_fails = False
        self.calls: list[str] = []
        self.arrived = threading.Event()

    def poll(self, timeout: float) -> Any:
        if self.next_rebalance is not None:
            (kind, places), self.next_rebalance = self.next_rebalance, None
            self.listeners[kind](self, places)
            if kind != "on_assign":
                for place in places:
                    self.assigned.pop((place.topic, place.partition))
        if not self.messages:
            self.arrived.wait(timeout)
            self.arrived.clear()
        return self.messages.pop(0) if self.messages else None

    def consume(self, count: int, timeout: float) -> list[Any]:
        taken, self.messages = self.messages[:count], self.messages[count:]
        return taken

    def receive(self, *messages: Any) -> None:
        """From another thread, as a broker would."""
        self.messages.extend(messages)
        self.arrived.set()

    def subscribe(self, topics: list[str], **listeners: Any) -> None:
        self.listeners = listeners

    def assign(self, places: list[TopicPartition]) -> None:
        self.calls.append("assign")
        self.assigned = {(place.topic, place.partition): place.offset for place in places}

    def incremental_assign(self, places: list[TopicPartition]) -> None:
        self.calls.append("incremental_assign")
        self.assigned |= {(place.topic, place.partition): place.offset for place in places}

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition(*place) for place in self.assigned]

    def position(self, places: list[TopicPartition]) -> list[TopicPartition]:
        return places

    def seek(self, place: TopicPartition) -> None:
        if self.seek_fails:
            raise KafkaException(KafkaError(KafkaError._STATE))
        self.assigned[place.topic, place.partition] = place.offset

    def pause(self, places: list[TopicPartition]) -> None:
        self.paused |= {(place.topic, place.partition) for place in places}

    def resume(self, places: list[TopicPartition]) -> None:
        self.paused -= {(place.topic, place.partition) for place in places}

    def store_offsets(self, offsets: list[TopicPartition]) -> None:
        self.stored |= {(place.topic, place.partition): place.offset for place in offsets}

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> list[TopicPartition] | None:
        self.group_offsets |= {(place.topic, place.partition): place.offset for place in offsets}
        return None if asynchronous else offsets

    def committed(self, places: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        return [
            TopicPartition(at.topic, at.partition, self.group_offsets.get((at.topic, at.partition), -1001))
            for at in places
        ]

    def get_watermark_offsets(self, place: TopicPartition, timeout: float) -> tuple[int, int] | None:
        return self.watermarks

    def close(self) -> None:
        self.calls.append("close")
