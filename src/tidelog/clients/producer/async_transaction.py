"""A transaction as an `async with` block. What ends it runs in a thread, and is not left half done."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from tidelog.clients.consumer.offsets import ToCommit
from tidelog.clients.errors import CommitRefused
from tidelog.clients.producer.sender import Sender
from tidelog.clients.producer.transaction import abort_after, raise_fencing
from tidelog.clients.producer.transaction_core import Stage, TransactionCore
from tidelog.clients.records import Headers, Key, Receipt, Value

if TYPE_CHECKING:
    from tidelog.clients.consumer.async_consumer import AsyncConsumer
    from tidelog.clients.producer.async_producer import AsyncProducer

AnswerT = TypeVar("AnswerT")


class AsyncTransaction(Generic[Key, Value]):
    """All records of a `async with` block together, and the offsets of what was read for them.

    A producer's `transaction()` makes it; there is one at a time. The end of the block commits. An
    exception inside aborts, and propagates.

    Example:
        import asyncio

        from tidelog import AsyncTransactionalProducer, ProducerConfig

        async def main():
            config = ProducerConfig(bootstrap_servers=["localhost:9092"])
            async with AsyncTransactionalProducer(config, transactional_id="bookings-1") as producer:
                async with producer.transaction() as tx:
                    receipt = await tx.send("bookings", "1")
                print(receipt.offset)

        asyncio.run(main())
    """

    def __init__(self, producer: "AsyncProducer[Key, Value]", sender: Sender) -> None:
        self._producer = producer
        self._sender = sender
        self._core = TransactionCore(sender)

    async def __aenter__(self) -> Self:
        try:
            await to_its_end(self._core.begin)
        except asyncio.CancelledError as error:
            if self._core.stage is Stage.OPEN:  # begun, and no caller is left to end it
                await to_its_end(partial(abort_after, error, self._core))
            raise
        return self

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
        """Send a record, and wait for its acknowledgement; it counts once the transaction is committed.

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
            UsageError: The transaction is over.
        """
        return await (
            await self.enqueue(
                topic, value, key=key, partition=partition, headers=headers, timestamp=timestamp
            )
        )

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
        """Buffer a record and return at once. The end of the block waits for all records.

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
            UsageError: The transaction is over.
        """
        self._core.check_open()
        return await self._producer.enqueue(
            topic, value, key=key, partition=partition, headers=headers, timestamp=timestamp
        )

    async def commit_offsets(self, consumer: "AsyncConsumer[Any, Any]", what: ToCommit = None) -> None:
        """Commit a consumer's offsets as part of this transaction.

        The consumer has a group and `enable_auto_commit=False`.

        Args:
            consumer: The consumer that read the messages.
            what: As for the consumer's `commit`. None: all messages that it delivered.

        Raises:
            TransactionAborted: Its partitions went to another consumer meanwhile, which reads the same
                messages.
        """
        self._core.check_open()
        try:
            offsets, member = await consumer.offsets_to_commit(what)
        except CommitRefused as error:
            raise self._core.spoil(error) from error
        await to_its_end(lambda: self._core.add_offsets(offsets, member, consumer.positions))

    async def commit(self) -> None:
        """Commit before the end of the block, or again after `TransactionUndecided`, to learn the outcome.

        Raises:
            TransactionAborted: None of its records count; run the block again.
            TransactionUndecided: No broker answered in time; the commit may still happen.
        """
        await to_its_end(self._core.commit)

    async def abort(self) -> None:
        """Abort the transaction, without an exception."""
        await to_its_end(self._core.abort)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            if not self._core.is_over:
                await to_its_end(self._core.commit)
            return
        if not self._core.is_over:
            await to_its_end(partial(abort_after, error, self._core))
        raise_fencing(error, self._sender)


async def to_its_end(function: Callable[[], AnswerT]) -> AnswerT:
    """In a thread. A caller that is cancelled waits for it: half an end would let everybody wait."""
    running = asyncio.ensure_future(asyncio.to_thread(function))
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        running.exception()  # the cancellation is what the caller gets
        raise cancelled
    return running.result()
