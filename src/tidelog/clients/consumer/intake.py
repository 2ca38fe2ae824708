"""From librdkafka's messages to ours: order kept, errors in their place, nothing of a paused partition."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import KafkaError

from tidelog.clients.error_table import as_client_error
from tidelog.clients.errors import ClientError
from tidelog.clients.records import Message, TimestampType, TopicPartition
from tidelog.clients.schemas.confluent import own_deserializer
from tidelog.clients.serializers import NoRegistry, deserialize

TIMESTAMP_TYPES = {kind.value: kind for kind in TimestampType}


class Intake:
    """Raw messages wait here until they are asked for, at most one fetch of them."""

    def __init__(
        self, key_deserializer: Callable[[bytes], Any], value_deserializer: Callable[[bytes], Any]
    ) -> None:
        self._read_key = own_deserializer(key_deserializer)
        self._read_value = own_deserializer(value_deserializer)
        self._waiting: deque[Any] = deque()
        self._set_aside: list[Any] = []
        self._paused: set[TopicPartition] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def paused(self) -> frozenset[TopicPartition]:
        return frozenset(self._paused)

    def add(self, raw: Iterable[Any]) -> None:
        self._waiting.extend(raw)

    def take(self, limit: int) -> list[Message[Any, Any]]:
        """Up to `limit` messages. An error ends the list; it is raised by the call that it comes first in,
        and the call after that continues behind it."""
        taken: list[Message[Any, Any]] = []
        while self._waiting and len(taken) < limit:
            raw = self._waiting.popleft()
            try:
                message = self._convert(raw)
            except NoRegistry:
                self._waiting.appendleft(raw)  # it comes again
                if not taken:
                    raise
                break
            except ClientError:
                if not taken:
                    raise
                self._waiting.appendleft(raw)
                break
            if message is not None:
                taken.append(message)
        return taken

    def _convert(self, raw: Any) -> Message[Any, Any] | None:
        error = raw.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                return None
            raise as_client_error(error, f"Reading {_place_text(raw)}", reading=True)
        place = TopicPartition(raw.topic(), raw.partition())
        if place in self._paused:
            self._set_aside.append(raw)
            return None
        offset, key, value = raw.offset(), raw.key(), raw.value()
        kind, timestamp = raw.timestamp()
        headers = tuple(raw.headers() or ())
        at: dict[str, Any] = {
            "place": place, "offset": offset, "key": key, "value": value, "headers": headers,
        }  # fmt: skip
        return Message(
            place.topic,
            place.partition,
            offset,
            timestamp if kind else None,
            TIMESTAMP_TYPES[kind],
            deserialize(self._read_key, key, "key", **at),
            deserialize(self._read_value, value, "value", **at),
            headers,
            raw.leader_epoch(),
        )

    def pause(self, places: Iterable[TopicPartition]) -> None:
        self._paused.update(places)

    def resume(self, places: Iterable[TopicPartition]) -> None:
        """What came in while they were paused is the first thing that comes out."""
        self._paused.difference_update(places)
        still_aside: list[Any] = []
        freed: list[Any] = []
        for raw in self._set_aside:
            place = TopicPartition(raw.topic(), raw.partition())
            (still_aside if place in self._paused else freed).append(raw)
        self._set_aside = still_aside
        self._waiting.extendleft(reversed(freed))

    def drop(self, places: Iterable[TopicPartition]) -> None:
        """Forget messages of partitions that were sought in or given up."""
        gone = set(places)

        def stays(raw: Any) -> bool:
            return raw.error() is not None or TopicPartition(raw.topic(), raw.partition()) not in gone

        self._waiting = deque(filter(stays, self._waiting))
        self._set_aside = list(filter(stays, self._set_aside))

    def forget_pauses(self, places: Iterable[TopicPartition]) -> None:
        self._paused.difference_update(places)


def _place_text(raw: Any) -> str:
    if raw.topic() is None:
        return "messages"
    if raw.partition() is None or raw.partition() < 0:
        return f"topic {raw.topic()!r}"
    return f"{raw.topic()}[{raw.partition()}]"
