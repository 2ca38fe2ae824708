"""The producer for asyncio: `await producer.send(...)` gives the receipt, and the loop is never blocked.

librdkafka reports from its callback thread; the reports cross to the loop in bunches, not one by one.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Generic, Self, overload

from tidelog.clients.errors import ClientError
from tidelog.clients.producer.async_transaction import AsyncTransaction
from tidelog.clients.producer.config import ProducerConfig
from tidelog.clients.producer.producer import buffer_full
from tidelog.clients.producer.sender import Sender
from tidelog.clients.records import Data, Headers, Key, Receipt, Value
from tidelog.clients.serializers import Serializer, data_serializer


class Crossing:
    """Outcomes on their way from the callback thread to the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._outcomes: deque[tuple[asyncio.Future[Receipt], Receipt | ClientError]] = deque()
        self._is_scheduled = False
        self.room = asyncio.Event()
        """Set when outcomes arrive: records have left the buffer."""

    def add(self, future: "asyncio.Future[Receipt]", outcome: Receipt | ClientError) -> None:
        self._outcomes.append((future, outcome))
        if not self._is_scheduled:
            self._is_scheduled = True
            try:
                self._loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:  # the loop is closed, and no task waits any more
                self._outcomes.clear()

    def _deliver(self) -> None:
        self._is_scheduled = False  # first: what is added from here on is scheduled anew
        while self._outcomes:
            future, outcome = self._outcomes.popleft()
            if future.done():  # cancelled; the record itself cannot be called back
                continue
            if isinstance(outcome, Receipt):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)
        self.room.set()


class LoopDelivery:
    __slots__ = ("_crossing", "future")

    def __init__(self, crossing: Crossing, future: "asyncio.Future[Receipt]") -> None:
        self._crossing = crossing
        self.future = future

    def succeed(self, receipt: Receipt) -> None:
        self._crossing.add(self.future, receipt)

    def fail(self, error: ClientError) -> None:
        self._crossing.add(self.future, error)


class AsyncProducer(Generic[Key, Value]):
    """Writes records to topics, from asyncio.

    `await send(...)` waits for the receipt; `await enqueue(...)` only buffers the record. The event loop
    is never blocked. Make the producer where the loop runs, and use it on that loop only.

    Example:
        import asyncio

        from tidelog import AsyncProducer, ProducerConfig

        async def main():
            config = ProducerConfig(bootstrap_servers=["localhost:9092"])
            async with AsyncProducer(config) as producer:
                receipt = await producer.send("ticks", "one")
                print(receipt.offset)
                await asyncio.gather(*(producer.send("ticks", str(number)) for number in range(9)))

        asyncio.run(main())

    Args:
        config: A `ProducerConfig`, or a dict: `{"bootstrap.servers": "localhost:9092"}`.
        key_serializer: Turns keys into bytes. Without one, keys are bytes or str.
        value_serializer: Turns values into bytes. Without one, values are bytes or str.

    Attributes:
        config: The `ProducerConfig`.
    """

    @overload
    def __init__(self: "AsyncProducer[Data, Data]", config: ProducerConfig | Mapping[str, Any]) -> None: ...
    @overload
    def __init__(
        self: "AsyncProducer[Key, Data]",
        config: ProducerConfig | Mapping[str, Any],
        *,
        key_serializer: Serializer[Key],
    ) -> None: ...
    @overload
    def __init__(
        self: "AsyncProducer[Data, Value]",
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
        self._loop = asyncio.get_running_loop()
        self._crossing = Crossing(self._loop)
        self._sender = Sender(self.config, key_serializer, value_serializer)

    async def send(
        self,
        topic: str,
        value: Value | None = None,
        *,
        key: Key | None = None,
        partition: int | None = None,
        headers: Headers | None = None,
        timestamp: int | datetime | None = None,
    ) -> Receipt:
        """Send a record, and wait for the broker's acknowledgement.

        Args:
            topic: The topic.
            value: What the value serializer takes; bytes or str without one. None is a tombstone, which
                deletes the key from a compacted topic.
            key: What the key serializer takes. Records of one key go to one partition, in order.
            partition: The partition, if the key is not to choose it.
            headers: Names and values, as a mapping or as pairs.
            timestamp: A `datetime`, or milliseconds since 1970. None: now.

        Returns:
            The `Receipt`.

        Raises:
            ProduceError: It was not written; the subclass says why. Other `ClientError`s are possible too.
        """
        future = await self.enqueue(
            topic, value, key=key, partition=partition, headers=headers, timestamp=timestamp
        )
        return await future

    async def enqueue(
        self,
        topic: str,
        value: Value | None = None,
        *,
        key: Key | None = None,
        partition: int | None = None,
        headers: Headers | None = None,
        timestamp: int | datetime | None = None,
    ) -> "asyncio.Future[Receipt]":
        """Buffer a record and return at once. It waits only while the buffer is full.

        Args:
            topic: The topic.
            value: What the value serializer takes; bytes or str without one. None is a tombstone, which
                deletes the key from a compacted topic.
            key: What the key serializer takes. Records of one key go to one partition, in order.
            partition: The partition, if the key is not to choose it.
            headers: Names and values, as a mapping or as pairs.
            timestamp: A `datetime`, or milliseconds since 1970. None: now.

        Returns:
            A future of the `Receipt`.

        Raises:
            SerializationError: The key, the value or a header cannot be made bytes.
            BufferFull: The buffer stayed full for `max_block_ms`.
            ClientClosed: The producer is closed.
        """
        record = self._sender.prepare(
            topic, value, key, partition=partition, headers=headers, timestamp=timestamp
        )
        delivery = LoopDelivery(self._crossing, self._loop.create_future())
        if not self._sender.try_produce(record, delivery):
            await self._wait_for_room(record, delivery)
        return delivery.future

    async def _wait_for_room(self, record: dict[str, Any], delivery: LoopDelivery) -> None:
        deadline = time.monotonic() + self.config.max_block_ms / 1000
        while True:
            self._crossing.room.clear()
            if self._sender.try_produce(record, delivery):
                return
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await self._crossing.room.wait()
            except TimeoutError:
                raise buffer_full(self.config, record["topic"]) from None
            self._sender.check_usable()

    async def flush(self, timeout_ms: int | None = None) -> None:
        """Wait until every sent record is delivered or has failed.

        Args:
            timeout_ms: How long to wait at most. None: as long as it takes.

        Raises:
            RequestTimedOut: Records are still under way; flush again, or wait for their futures.
        """
        await asyncio.to_thread(self._sender.flush, None if timeout_ms is None else timeout_ms / 1000)

    def transaction(self) -> AsyncTransaction[Key, Value]:
        """A transaction as an `async with` block: all of its records are seen, or none.

        `AsyncTransactionalProducer` has an example.

        Raises:
            UsageError: The producer has no `transactional_id`.
        """
        return AsyncTransaction(self, self._sender)

    def __len__(self) -> int:
        """The number of records that are neither delivered nor failed yet."""
        return self._sender.unacknowledged

    def __bool__(self) -> bool:
        return True

    async def close(self, timeout_ms: int | None = None) -> None:
        """Send the buffered records, then end. The end of the `async with` block does it too.

        Every record is delivered or fails: one that is not acknowledged in time fails.

        Args:
            timeout_ms: How long to wait at most. None: until `delivery_timeout_ms` is over for each record.
        """
        await asyncio.to_thread(self._sender.close, None if timeout_ms is None else timeout_ms / 1000)
        await asyncio.sleep(0)  # the last outcomes are on the loop's list already: let them arrive

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
