"""A transaction as a `with` block: it commits at the end, and aborts if the block raises."""

from concurrent.futures import Future
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self

from tidelog.clients.consumer.offsets import ToCommit
from tidelog.clients.errors import ClientError, CommitRefused
from tidelog.clients.log import LOG
from tidelog.clients.producer.delivery import DeliveryCallback
from tidelog.clients.producer.sender import Sender
from tidelog.clients.producer.transaction_core import TransactionCore
from tidelog.clients.records import Headers, Key, Receipt, Value

if TYPE_CHECKING:
    from tidelog.clients.consumer.consumer import Consumer
    from tidelog.clients.producer.producer import Producer


class Transaction(Generic[Key, Value]):
    """All records of a `with` block together, and the offsets of what was read for them.

    A producer's `transaction()` makes it; there is one at a time. The end of the block commits. An
    exception inside aborts, and propagates.

    Example:
        from tidelog import (
            Consumer,
            ConsumerConfig,
            OffsetResetPolicy,
            Producer,
            ProducerConfig,
            TransactionalProducer,
        )

        config = ProducerConfig(bootstrap_servers=["localhost:9092"])
        with Producer(config) as producer:
            producer.send("orders", "order 1")

        reader = ConsumerConfig(
            bootstrap_servers=["localhost:9092"],
            group_id="billing",
            enable_auto_commit=False,
            auto_offset_reset=OffsetResetPolicy.EARLIEST,
        )
        with (
            Consumer(reader) as consumer,
            TransactionalProducer(config, transactional_id="billing-1") as producer,
        ):
            consumer.subscribe(["orders"])
            messages = consumer.poll(timeout_ms=30_000)
            with producer.transaction() as tx:
                for message in messages:
                    tx.send("invoices", message.value)
                tx.commit_offsets(consumer)
            print(len(messages))
    """

    def __init__(self, producer: "Producer[Key, Value]", sender: Sender) -> None:
        self._producer = producer
        self._sender = sender
        self._core = TransactionCore(sender)

    def __enter__(self) -> Self:
        self._core.begin()
        return self

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
        """Buffer a record, as the producer's `send` does. The end of the block waits for all records.

        Args:
            topic: The topic.
            value: What the value serializer takes; bytes or str without one. None is a tombstone, which
                deletes the key from a compacted topic.
            key: What the key serializer takes. Records of one key go to one partition, in order.
            partition: The partition, if the key is not to choose it.
            headers: Names and values, as a mapping or as pairs.
            timestamp: A `datetime`, or milliseconds since 1970. None: now.
            on_delivery: Called with a receipt or an error, the other one None, on a thread of the producer.

        Returns:
            A future of the `Receipt`; the record counts once the transaction is committed.

        Raises:
            UsageError: The transaction is over.
        """
        self._core.check_open()
        return self._producer.send(
            topic,
            value,
            key=key,
            partition=partition,
            headers=headers,
            timestamp=timestamp,
            on_delivery=on_delivery,
        )

    def commit_offsets(self, consumer: "Consumer[Any, Any]", what: ToCommit = None) -> None:
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
            offsets, member = consumer.offsets_to_commit(what)
        except CommitRefused as error:
            raise self._core.spoil(error) from error
        self._core.add_offsets(offsets, member, consumer.positions)

    def commit(self) -> None:
        """Commit before the end of the block, or again after `TransactionUndecided`, to learn the outcome.

        Raises:
            TransactionAborted: None of its records count; run the block again.
            TransactionUndecided: No broker answered in time; the commit may still happen.
        """
        self._core.commit()

    def abort(self) -> None:
        """Abort the transaction, without an exception."""
        self._core.abort()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            if not self._core.is_over:
                self._core.commit()
            return
        if not self._core.is_over:
            abort_after(error, self._core)
        raise_fencing(error, self._sender)


def abort_after(error: BaseException, core: TransactionCore) -> None:
    """The block's own error is what the caller is to see, whatever becomes of the abort."""
    try:
        core.abort()
    except ClientError as failure:
        LOG.debug("an abort failed", exc_info=True)
        error.add_note(f"The transaction could not be aborted by its producer: {failure.what}")


def raise_fencing(error: BaseException, sender: Sender) -> None:
    """Records of a fenced producer fail in many ways; raise the error that matters."""
    fatal = sender.fatal
    if fatal is not None and isinstance(error, ClientError) and not error.fatal:
        raise fatal from error
