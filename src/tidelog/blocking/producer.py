"""Writes record batches to the leaders of their partitions: each once and in order, through retries.

Batches carry the producer's identity and a sequence number, so a broker that has one already says so.
Several requests are under way at a time. When one fails, the answers to all are awaited, and what was not
written is sent again, one batch per partition at a time, until the time for a delivery is over.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.invariant import invariant
from tidelog.base.ports import Buffer
from tidelog.blocking.attempts import Limits
from tidelog.blocking.cluster import Cluster, TopicPartition
from tidelog.blocking.connection import Connection
from tidelog.blocking.errors import Disconnected
from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.blocking.transactions import TransactionCalls
from tidelog.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

REQUESTS_MAX = 4
"""Under way at once; a broker remembers the last five batches of a producer in each partition."""
ACKS_ALL = -1
NAMES_UP_TO = 12
"""The last version of Produce that calls topics by name."""
EXPLICIT_JOIN_UP_TO = 11
"""From the next version on, a write makes its partition part of the transaction."""
SEQUENCE_END = 1 << 31

_WRITTEN = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
_FENCED = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)


class Outgoing(NamedTuple):
    partition: TopicPartition
    batch: Buffer
    """With the producer's identity, and the sequence number that `reserve` gave."""


class _Request(NamedTuple):
    connection: Connection
    batches: list[Outgoing]


class Producer:
    def __init__(
        self,
        cluster: Cluster,
        identity: ProducerIdentity,
        limits: Limits,
        *,
        transactional_id: str | None = None,
    ) -> None:
        """`limits.total_s` is the time for the delivery of a batch."""
        self.identity = identity
        self.transactional_id = transactional_id
        self._cluster = cluster
        self._limits = limits
        self._calls = TransactionCalls(cluster)
        self._joins = transactional_id is not None and not self._calls.writes_join
        self._joined: set[TopicPartition] = set()
        self._sequences: dict[TopicPartition, int] = {}
        self._unanswered: dict[TopicPartition, deque[Outgoing]] = {}
        self._requests: deque[_Request] = deque()

    def reserve(self, partition: TopicPartition, count: int) -> int:
        """The sequence number for the first of so many records, which must be sent next."""
        sequence = self._sequences.get(partition, 0)
        self._sequences[partition] = (sequence + count) % SEQUENCE_END
        return sequence

    def send(self, batches: Sequence[Outgoing]) -> None:
        """Returns when they are on their way; at most one batch for each partition."""
        if self._joins:
            self._join(batches)
        while len(self._requests) >= REQUESTS_MAX:
            self._receive_oldest()
        for one in batches:
            self._unanswered.setdefault(one.partition, deque()).append(one)
        try:
            self._post(batches)
        except (Disconnected, KafkaError) as error:
            self._recover(error)

    def flush(self) -> None:
        """Returns when all is written."""
        while self._requests:
            self._receive_oldest()
        invariant(not any(self._unanswered.values()), "batches without an answer")

    def _join(self, batches: Iterable[Outgoing]) -> None:
        new = sorted({one.partition for one in batches} - self._joined)
        if new and self.transactional_id is not None:
            self._calls.join(self.transactional_id, self.identity, new)
            self._joined.update(new)

    def _post(self, batches: Iterable[Outgoing]) -> None:
        by_leader: dict[int, list[Outgoing]] = {}
        for one in batches:
            by_leader.setdefault(self._cluster.leader(one.partition), []).append(one)
        for leader, theirs in by_leader.items():
            connection = self._cluster.connection(leader)
            connection.send(self._message(theirs), at_most=self._version_max)
            self._requests.append(_Request(connection, theirs))

    @property
    def _version_max(self) -> int:
        return EXPLICIT_JOIN_UP_TO if self._joins else NAMES_UP_TO

    def _message(self, batches: Iterable[Outgoing]) -> ProduceRequest:
        topics: dict[str, list[PartitionProduceData]] = {}
        for (topic, index), batch in batches:
            topics.setdefault(topic, []).append(PartitionProduceData(index=index, records=memoryview(batch)))
        return ProduceRequest(
            transactional_id=self.transactional_id,
            acks=ACKS_ALL,
            timeout_ms=int(1000 * self._limits.request_s),
            topic_data=[
                TopicProduceData(name=name, partition_data=partitions) for name, partitions in topics.items()
            ],
        )

    def _receive_oldest(self) -> None:
        try:
            self._receive(self._requests.popleft())
        except (Disconnected, KafkaError) as error:
            self._recover(error)

    def _receive(self, request: _Request) -> None:
        answer: ProduceResponse = request.connection.receive()
        sent = {one.partition: one for one in request.batches}
        failure: KafkaError | None = None
        for topic in answer.responses:
            for part in topic.partition_responses:
                partition, code = TopicPartition(topic.name, part.index), ErrorCode.of(part.error_code)
                if code in _WRITTEN:
                    self._written(sent[partition])
                else:
                    failure = _worse(failure, self._refusal(partition, code, part.error_message))
        if failure is not None:
            raise failure

    def _written(self, batch: Outgoing) -> None:
        waiting = self._unanswered[batch.partition]
        self._unanswered[batch.partition] = deque(one for one in waiting if one is not batch)

    def _refusal(self, partition: TopicPartition, code: ErrorCode, message: str | None) -> KafkaError:
        why = f"{partition}: {message or code.text}"
        if code in _FENCED:
            why += " Another attempt of this task, or the driver, has ended its transaction."
        elif code is ErrorCode.MESSAGE_TOO_LARGE:
            why += " A row, or kafka.batch.size, is larger than the topic's max.message.bytes."
        return KafkaError(code, why)

    def _recover(self, error: Exception) -> None:
        """A later batch must not be written before an earlier one: first learn the fate of all."""
        if isinstance(error, KafkaError) and not error.code.retriable:
            raise error
        self._drain()
        attempts = self._cluster.attempts("write of records", self._limits)
        self._cluster.forget()
        attempts.run(self._send_again)

    def _drain(self) -> None:
        while self._requests:
            try:
                self._receive(self._requests.popleft())
            except Disconnected:
                continue
            except KafkaError as error:
                # Batches behind one that was not written are out of order; they are sent again after it.
                if not error.code.retriable and error.code is not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                    raise

    def _send_again(self) -> None:
        """One batch per partition at a time, so that the broker needs to remember but the last."""
        try:
            while firsts := [waiting[0] for waiting in self._unanswered.values() if waiting]:
                self._post(firsts)
                while self._requests:
                    self._receive(self._requests.popleft())
        except (Disconnected, KafkaError):
            self._drain()
            raise


def _worse(known: KafkaError | None, found: KafkaError) -> KafkaError:
    """Returns the error that ends the attempt, if either does."""
    return found if known is None or known.code.retriable else known
