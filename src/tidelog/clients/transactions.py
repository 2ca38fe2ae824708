"""A transaction as a `with` block: it commits at the end, and aborts if the block raises."""

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tidelog.clients.error_table import translated
from tidelog.clients.errors import UsageError
from tidelog.clients.places import to_librdkafka
from tidelog.clients.records import OffsetAndMetadata, TopicPartition
from tidelog.clients.sender import Sender

if TYPE_CHECKING:
    from tidelog.clients.consumer import Consumer


class Transaction:
    def __init__(self, sender: Sender) -> None:
        if sender.config.transactional_id is None:
            raise UsageError(
                "This producer has no transactions.", attempt="set transactional_id in its ProducerConfig."
            )
        self._sender = sender
        self._limit_s = sender.config.request_timeout_ms / 1000

    def __enter__(self) -> Self:
        self._sender.check_usable()
        self._sender.prepare_transactions(self._limit_s)
        with translated("Beginning a transaction", producing=True):
            self._sender.client.begin_transaction()
        return self

    def send_offsets(
        self,
        consumer: "Consumer[Any, Any]",
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
    ) -> None:
        """Commit the consumer's offsets with the transaction: unless given, of all it has handed out."""
        chosen = consumer.handed_out() if offsets is None else offsets
        with translated("Adding offsets to the transaction", producing=True):
            self._sender.client.send_offsets_to_transaction(
                [to_librdkafka(place, position) for place, position in chosen.items()],
                consumer.group_metadata(),
                self._limit_s,
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            with translated("Aborting the transaction", producing=True):
                self._sender.client.abort_transaction(self._limit_s)
            return
        try:
            with translated("Committing the transaction", producing=True):
                self._sender.client.commit_transaction(self._limit_s)
        except BaseException as failure:
            if not getattr(failure, "retriable", False) and not getattr(failure, "fatal", False):
                with translated("Aborting the transaction", producing=True):
                    self._sender.client.abort_transaction(self._limit_s)
            raise
