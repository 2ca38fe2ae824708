"""Partitions join a transaction: asked for by the producer, or by a partition's leader in its name.

A leader also asks whether a partition is in it (KIP-890): what is not may not be written, since no marker
would ever end it.
"""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import TimestampMs
from tidelog.coordination.decision import ShardDecision
from tidelog.transactions.messages import AddRequest, VerifyAnswer
from tidelog.transactions.record_format import record_of
from tidelog.transactions.states import State
from tidelog.transactions.transaction import Identity, TopicPartition, Transaction, in_order

PARTITIONS_MAX = 10_000
"""Of one transaction: its record must fit into a batch, and each change writes all of it."""


def add(found: Transaction | None, request: AddRequest, now_ms: TimestampMs) -> ShardDecision[ErrorCode]:
    try:
        transaction = checked(found, request.transactional_id, request.producer)
        if transaction.is_kept:  # its successor may end it, and nothing else
            raise KafkaError(ErrorCode.INVALID_TXN_STATE)
        partitions = in_order((*transaction.partitions, *request.partitions))
        if len(partitions) > PARTITIONS_MAX:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
    except KafkaError as refusal:
        return ShardDecision.of(refusal.code, _as_answer)
    is_open = transaction.state is State.ONGOING
    if (is_open and partitions == transaction.partitions) or not request.partitions:
        return ShardDecision.of(ErrorCode.NONE, _as_answer)
    grown = transaction.to(
        State.ONGOING,
        now_ms,
        partitions=partitions,
        started_ms=transaction.started_ms if is_open else now_ms,
        version=request.version,
    )
    return ShardDecision.of(ErrorCode.NONE, _as_answer, (record_of(grown),))


def verify(found: Transaction | None, request: AddRequest) -> ShardDecision[list[VerifyAnswer]]:
    def answer_for_all(error: ErrorCode) -> list[VerifyAnswer]:
        return [VerifyAnswer(partition, error) for partition in request.partitions]

    try:
        transaction = checked(found, request.transactional_id, request.producer)
    except KafkaError as refusal:
        return ShardDecision.of(answer_for_all(refusal.code), answer_for_all)
    return ShardDecision.of(
        [VerifyAnswer(one, _verdict(transaction, one)) for one in request.partitions],
        answer_for_all,
    )


def _verdict(transaction: Transaction, partition: TopicPartition) -> ErrorCode:
    is_in = transaction.state is State.ONGOING and partition in transaction.partitions
    return ErrorCode.NONE if is_in and not transaction.is_kept else ErrorCode.TRANSACTION_ABORTABLE


def checked(found: Transaction | None, transactional_id: str, producer: Identity) -> Transaction:
    """The transaction of this producer, unless it is being ended; KafkaError for a zombie or a stranger."""
    if not transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if found is None or found.client.producer_id != producer.producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if found.client.epoch != producer.epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if found.is_ending:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    return found


def _as_answer(error: ErrorCode) -> ErrorCode:
    return error
