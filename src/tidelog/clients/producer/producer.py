"""The producer: `send` hands a record over and gives a future; batching and retries are librdkafka's."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import datetime
from types import TracebackType
from typing import Any, Generic, Self, overload

from tidelog.clients.errors import BufferFull
from tidelog.clients.producer.config import ProducerConfig
from tidelog.clients.producer.delivery import DeliveryCallback, DeliveryFuture
from tidelog.clients.producer.sender import Sender
from tidelog.clients.producer.transaction import Transaction
from tidelog.clients.records import Data, Headers, Key, Receipt, Value
from tidelog.clients.serializers import Serializer, data_serializer

ROOM_POLL_S = 0.05


class Producer(Generic[Key, Value]):
    """Writes records to topics.

    `send` buffers a record at once and returns a future; records travel in batches. Producers are
    thread-safe: one for the whole process fills its batches best. Use `with`, or call `close`, which sends
    what is waiting. A producer that is never closed does so when the program ends, with a warning.

    Example:
        from tidelog import Producer, ProducerConfig, json_serializer

        config = ProducerConfig(bootstrap_servers=["localhost:9092"])
        with Producer(config, value_serializer=json_serializer) as producer:
            receipt = producer.send("orders", {"number": 1}, key="ann").result()
            print(receipt.partition, receipt.offset)

    Args:
        config: A `ProducerConfig`, or a dict: `{"bootstrap.servers": "localhost:9092"}`.
        key_serializer: Turns keys into bytes. Without one, keys are bytes or str.
        value_serializer: Turns values into bytes. Without one, values are bytes or str.

    Attributes:
        config: The `ProducerConfig`.
    """

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
        """Buffer a record and return at once.

        It waits only while the buffer is full.

        Example:
            from tidelog import Producer, ProducerConfig

            with Producer(ProducerConfig(bootstrap_servers=["localhost:9092"])) as producer:
                future = producer.send("events", "Hello", key="user-1", headers={"source": "web"})
                print(future.result().offset)

        Args:
            topic: The topic.
            value: What the value serializer takes; bytes or str without one. None is a tombstone, which
                deletes the key from a compacted topic.
            key: What the key serializer takes. Records of one key go to one partition, in order.
            partition: The partition, if the key is not to choose it.
            headers: Names and values, as a mapping or as pairs.
            timestamp: A `datetime`, or milliseconds since 1970. None: now.
            on_delivery: Called with a receipt or an error, the other one None, on a thread of the producer.
                Keep it short.

        Returns:
            A future of the `Receipt`. It fails with a `ProduceError` or another `ClientError`.

        Raises:
            SerializationError: The key, the value or a header cannot be made bytes.
            BufferFull: The buffer stayed full for `max_block_ms`.
            ClientClosed: The producer is closed.
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
        """Wait until every sent record is delivered or has failed.

        Args:
            timeout_ms: How long to wait at most. None: as long as it takes.

        Raises:
            RequestTimedOut: Records are still under way; flush again, or wait for their futures.
        """
        self._sender.flush(None if timeout_ms is None else timeout_ms / 1000)

    def transaction(self) -> Transaction[Key, Value]:
        """A transaction as a `with` block: all of its records are seen, or none.

        Example:
            from tidelog import ProducerConfig, TransactionalProducer

            config = ProducerConfig(bootstrap_servers=["localhost:9092"])
            with TransactionalProducer(config, transactional_id="billing-1") as producer:
                with producer.transaction() as tx:
                    tx.send("invoices", "1")

        Raises:
            UsageError: The producer has no `transactional_id`.
        """
        return Transaction(self, self._sender)

    def __len__(self) -> int:
        """The number of records that are neither delivered nor failed yet."""
        return self._sender.unacknowledged

    def __bool__(self) -> bool:
        return True

    def close(self, timeout_ms: int | None = None) -> None:
        """Send the buffered records, then end. The end of the `with` block does it too.

        Every record is delivered or fails: one that is not acknowledged in time fails.

        Args:
            timeout_ms: How long to wait at most. None: until `delivery_timeout_ms` is over for each record.
        """
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
