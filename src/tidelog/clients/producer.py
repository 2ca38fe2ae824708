"""The producer: `send` hands a record over and gives a future; batching and retries are librdkafka's."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import datetime
from types import TracebackType
from typing import Any, Generic, Self, overload

from tidelog.clients.delivery import DeliveryCallback, DeliveryFuture
from tidelog.clients.errors import BufferFull
from tidelog.clients.producer_config import ProducerConfig
from tidelog.clients.records import Data, Headers, Key, Receipt, Value
from tidelog.clients.sender import Sender
from tidelog.clients.serializers import Serializer, data_serializer
from tidelog.clients.transaction import Transaction

ROOM_POLL_S = 0.05


class Producer(Generic[Key, Value]):
    """Thread-safe: one producer serves a whole process, and fills its batches best that way."""

    @overload
    def __init__(self: "Producer[Data, Data]", config: ProducerConfig | Mapping[str, Any]) -> None: ...
    @overload
    def __init__(
        self: "Producer[Key, Data]",
        config: ProducerConfig | Mapping[str, Any],
        *,
        key_serializer: Serializer[Key],
    ) -> None: ...
    @overload
    def __init__(
        self: "Producer[Data, Value]",
        config: ProducerConfig | Mapping[str, Any],
        *,
        value_serializer: Serializer[Value],
    ) -> None: ...
    @overload
    def __init__(
        self,
        config: ProducerConfig | Mapping[str, Any],
        *,
        key_serializer: Serializer[Key],
        value_serializer: Serializer[Value],
    ) -> None: ...
    def __init__(
        self,
        config: ProducerConfig | Mapping[str, Any],
        *,
        key_serializer: Callable[[Any], bytes] = data_serializer,
        value_serializer: Callable[[Any], bytes] = data_serializer,
    ) -> None:
        self.config = ProducerConfig.of(config)
        self._sender = Sender(self.config, key_serializer, value_serializer)

    def send(
        self,
        topic: str,
        value: Value | None = None,
        *,
        key: Key | None = None,
        partition: int | None = None,
        headers: Headers | None = None,
        timestamp: int | datetime | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> "Future[Receipt]":
        """Hand a record over. The future completes when the broker has acknowledged it, or fails.

        Waits only while the buffer is full, at most max_block_ms. A record that cannot be serialized and
        a closed producer raise here; everything that happens later is the future's.
        """
        record = self._sender.prepare(
            topic, value, key, partition=partition, headers=headers, timestamp=timestamp
        )
        delivery = DeliveryFuture(on_delivery)
        if not self._sender.try_produce(record, delivery):
            self._wait_for_room(record, delivery)
        return delivery

    def _wait_for_room(self, record: dict[str, Any], delivery: DeliveryFuture) -> None:
        deadline = time.monotonic() + self.config.max_block_ms / 1000
        while time.monotonic() < deadline:
            self._sender.poll(ROOM_POLL_S)
            if self._sender.try_produce(record, delivery):
                return
        raise buffer_full(self.config, record["topic"])

    def flush(self, timeout_ms: int | None = None) -> None:
        """Wait until every record has its outcome; `RequestTimedOut` if the time is over before."""
        self._sender.flush(None if timeout_ms is None else timeout_ms / 1000)

    def transaction(self) -> Transaction[Key, Value]:
        """`with producer.transaction() as tx:` all records of the block are seen, or none."""
        return Transaction(self, self._sender)

    def __len__(self) -> int:
        """Records without an outcome yet."""
        return self._sender.unsettled

    def __bool__(self) -> bool:
        return True

    def close(self, timeout_ms: int | None = None) -> None:
        """Send what is waiting, then end. Without a limit every record comes to its delivery_timeout_ms."""
        self._sender.close(None if timeout_ms is None else timeout_ms / 1000)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def buffer_full(config: ProducerConfig, topic: str) -> BufferFull:
    return BufferFull(
        f"There was no room for a record to {topic!r} within {config.max_block_ms} ms.", retriable=True
    )
