"""A transaction as a `with` block: it commits at the end, and aborts if the block raises."""

from concurrent.futures import Future
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self

from tidelog.clients.consumer_offsets import ToCommit
from tidelog.clients.delivery import LOG, DeliveryCallback
from tidelog.clients.errors import ClientError, CommitRefused
from tidelog.clients.records import Headers, Key, Receipt, Value
from tidelog.clients.sender import Sender
from tidelog.clients.transaction_core import TransactionCore

if TYPE_CHECKING:
    from tidelog.clients.consumer import Consumer
    from tidelog.clients.producer import Producer


class Transaction(Generic[Key, Value]):
    """Made by `producer.transaction()`; a producer has one at a time."""

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
        """As the producer's `send`. The end of the block waits for every record; you need not."""
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
        """Commit what the consumer has read, atomically with the output: unless given, all it has handed out.

        `TransactionAborted` where its partitions went to another consumer meanwhile.
        """
        self._core.check_open()
        try:
            offsets, member = consumer.offsets_to_commit(what)
        except CommitRefused as error:
            raise self._core.spoil(error) from error
        self._core.add_offsets(offsets, member, consumer.positions)

    def commit(self) -> None:
        """Before the end of the block; or again after `TransactionUndecided`, to learn the outcome."""
        self._core.commit()

    def abort(self) -> None:
        """Leave nothing of it, without an exception."""
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
    """Of a producer that is fenced, records fail in many ways; say the one that matters."""
    fatal = sender.fatal
    if fatal is not None and isinstance(error, ClientError) and not error.fatal:
        raise fatal from error
