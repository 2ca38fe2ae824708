"""One transaction as librdkafka takes it: begin, add offsets, then commit or abort. Both producers use it.

librdkafka tells three kinds of failure apart. A passing one is tried again while there is time. One that
spoils the transaction ends it with an abort, and the block may run again. A fatal one ends the producer.
"""

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any

from confluent_kafka import KafkaException

from tidelog.clients.consumer.positions import Positions
from tidelog.clients.error_table import from_exception
from tidelog.clients.errors import ClientError, TransactionAborted, TransactionUndecided, UsageError
from tidelog.clients.places import to_librdkafka
from tidelog.clients.producer.sender import Sender
from tidelog.clients.records import OffsetAndMetadata, TopicPartition, plain_offset
from tidelog.clients.retrying import retry_while_passing

Offsets = Mapping[TopicPartition, int | OffsetAndMetadata]


class Stage(Enum):
    NEW = auto()
    OPEN = auto()
    COMMITTING = auto()
    """A commit or abort is sent and not yet answered: no other call is allowed."""
    ABORTING = auto()
    ENDED = auto()


class TransactionCore:
    def __init__(self, sender: Sender) -> None:
        if sender.config.transactional_id is None:
            raise UsageError(
                "This producer has no transactions.",
                cause="its configuration has no transactional_id.",
                attempt="use TransactionalProducer(config, transactional_id=...).",
            )
        self._sender = sender
        self._client = sender.client
        self._limit_s = sender.config.transaction_limit_ms / 1000
        self._spoilt: ClientError | None = None
        self._added: list[tuple[Positions, Offsets]] = []
        self.stage = Stage.NEW

    @property
    def is_over(self) -> bool:
        return self.stage is Stage.ENDED

    def begin(self) -> None:
        self._sender.check_usable()
        if self.stage is not Stage.NEW:
            raise UsageError("A transaction begins once.", attempt="ask the producer for another one.")
        self._finish_the_last_one()
        self._sender.take_over()
        self._call("Beginning a transaction", lambda _: self._client.begin_transaction())
        self.stage = Stage.OPEN
        self._sender.failure = None
        self._sender.transaction = self

    def _finish_the_last_one(self) -> None:
        last = self._sender.transaction
        if not isinstance(last, TransactionCore):
            return
        if last.stage is Stage.ABORTING:
            last.abort()
        elif last.stage is Stage.COMMITTING:
            raise last.undecided()
        else:
            raise UsageError(
                "A transaction of this producer is under way already.",
                cause="a producer has one at a time; threads cannot share it.",
                attempt="end it first, or make another producer with an id of its own.",
            )

    def check_open(self) -> None:
        if self.stage is not Stage.OPEN:
            raise UsageError(
                "The transaction is not open.",
                cause="its `with` block has not begun, or is over.",
                attempt="use it within `with producer.transaction() as tx:`.",
            )

    def add_offsets(self, offsets: Offsets, member: Any, positions: Positions) -> None:
        """`member` is librdkafka's description of the consumer, by which the group knows it."""
        self.check_open()
        if not offsets:
            return
        places = [to_librdkafka(place, position) for place, position in offsets.items()]
        try:
            self._call(
                "Adding offsets to the transaction",
                lambda limit_s: self._client.send_offsets_to_transaction(places, member, limit_s),
            )
        except ClientError as error:
            if error.spoils_transaction:
                raise self.spoil(error) from error
            raise
        self._added.append((positions, offsets))

    def spoil(self, error: ClientError) -> TransactionAborted:
        """From now on it can only be aborted, whatever the block does with the error."""
        self._spoilt = error
        return aborted_by(error)

    def commit(self) -> None:
        """Again after `TransactionUndecided`: it asks for the outcome."""
        if self.stage is not Stage.COMMITTING:
            self.check_open()
        if self._spoilt is not None:
            self.abort()
            raise aborted_by(self._spoilt) from self._spoilt
        self.stage = Stage.COMMITTING
        try:
            self._call("Committing the transaction", self._client.commit_transaction)
        except ClientError as error:
            if error.fatal:
                self._end()
                raise
            if error.retriable and not error.spoils_transaction:
                raise self.undecided() from error
            # A record that failed says more than "the transaction failed".
            self._spoilt = self._sender.failure or error
            self.abort()
            raise aborted_by(self._spoilt) from error
        self._end()
        for positions, offsets in self._added:
            positions.committed({place: plain_offset(offset) for place, offset in offsets.items()})

    def abort(self) -> None:
        """Nothing of it counts. Where the broker does not answer, the next transaction tries again first."""
        if self.stage is Stage.COMMITTING and self._spoilt is None:
            raise self.undecided()
        if self.stage not in (Stage.COMMITTING, Stage.ABORTING):
            self.check_open()
        self.stage = Stage.ABORTING
        try:
            self._call("Aborting the transaction", self._client.abort_transaction)
        except ClientError as error:
            if error.retriable and not error.fatal:
                raise
            self._end()
            raise
        self._end()

    def undecided(self) -> TransactionUndecided:
        return TransactionUndecided(
            f"The commit was not confirmed within {self._limit_s:g} s, and may still happen.", retriable=True
        )

    def _end(self) -> None:
        self.stage = Stage.ENDED
        self._sender.transaction = None

    def _call(self, what: str, call: Callable[[float], None]) -> None:
        try:
            retry_while_passing(call, self._limit_s)
        except KafkaException as error:
            failure = from_exception(error, what)
            if failure.fatal:
                self._sender.fatal = self._sender.fatal or failure
            raise failure from error


def aborted_by(error: ClientError) -> TransactionAborted:
    return TransactionAborted(
        f"The transaction was aborted: {error.what}",
        cause=error.likely_cause,
        code=error.code,
        reason=error.reason,
        retriable=True,
    )
