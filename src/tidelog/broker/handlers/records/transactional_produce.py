"""Produce within a transaction: the first batch of a partition waits for the coordinator's confirmation.

Requests of one producer are handled in the order they came: a request that needs no confirmation does not
overtake one that waits for it.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.transaction_verification import error_for_writer
from tidelog.broker.handlers.records.permissions import FIRST_BY_ID, RefusedTopics
from tidelog.broker.log_dirs.hosted import TopicKey
from tidelog.broker.requests.answer import response_of
from tidelog.broker.requests.context import Context
from tidelog.broker.requests.producer_owner import is_own_producer, verify_open
from tidelog.replication.partition import Partition
from tidelog.storage.producers.verification import VerificationGuard
from tidelog.transactions.transaction import Identity, TopicPartition
from tidelog.wire.batch import HEADER, BatchHeader, read_header
from tidelog.wire.messages.produce import ProduceRequest

FIRST_THAT_ADDS = 12
FIRST_THAT_KNOWS_ABORTABLE = 11

ResponseT = TypeVar("ResponseT")

Guards = dict[tuple[TopicKey, int], VerificationGuard | KafkaError]
"""Permission for the first batch of each partition, or the error with which it is refused."""


class _TransactionalBatch(NamedTuple):
    key: tuple[TopicKey, int]
    partition: Partition
    header: BatchHeader

    @property
    def producer(self) -> Identity:
        return Identity(self.header.producer_id, self.header.producer_epoch)


def in_transaction(
    context: Context,
    request: ProduceRequest,
    forbidden: RefusedTopics,
    go_on: Callable[[Guards], ResponseT | Awaitable[ResponseT]],
) -> ResponseT | Awaitable[ResponseT]:
    """`go_on` appends, with the guards of the partitions that were verified."""
    batches = _batches(context, request, forbidden)
    if not batches:
        return go_on({})
    opened = [one.partition.log.producers.has_open(*one.producer) for one in batches]
    is_own = all(is_own_producer(context, request.transactional_id, one.producer) for one in batches)
    if all(opened) and is_own and not context.services.verification.has_turn(batches[0].producer.producer_id):
        return go_on({})
    return _after_verification(context, request, batches, go_on)


async def _after_verification(
    context: Context,
    request: ProduceRequest,
    batches: list[_TransactionalBatch],
    go_on: Callable[[Guards], ResponseT | Awaitable[ResponseT]],
) -> ResponseT:
    async with context.services.verification.turn(batches[0].producer.producer_id):
        answer = go_on(await _verify(context, request, batches))
    return await response_of(answer)


async def _verify(context: Context, request: ProduceRequest, batches: list[_TransactionalBatch]) -> Guards:
    services = context.services
    now_ms = services.clock.now_ms()
    adds = context.version >= FIRST_THAT_ADDS
    guards: Guards = {}
    asked: dict[TopicPartition, _TransactionalBatch] = {}
    for one in batches:
        log = one.partition.log
        # A producer with a new epoch for each transaction begins it with sequence 0. Another sequence may
        # arrive first if 0 went to a leader that has failed: it must not count as the beginning.
        is_new = adds and log.producers.get(one.producer.producer_id) is None
        sequence = 0 if is_new else one.header.base_sequence
        guard = log.producer_state.begin_verification(*one.producer, sequence, now_ms, ends_raise_epoch=adds)
        if guard is not None:
            guards[one.key] = guard
            asked[TopicPartition(one.partition.topic, one.partition.index)] = one
        elif not is_own_producer(context, request.transactional_id, one.producer):
            where = TopicPartition(one.partition.topic, one.partition.index)
            verdict = await verify_open(context, request.transactional_id, one.producer, where)
            if verdict is not ErrorCode.NONE:
                guards[one.key] = KafkaError(_for_writer(context, verdict, adds))
    if not asked or not (adds or services.config.bool("transaction.partition.verification.enable")):
        return guards
    producers = {one.producer for one in asked.values()}
    if len(producers) > 1:
        refusal = KafkaError(ErrorCode.INVALID_REQUEST, "one request has batches of several producers")
        return dict.fromkeys(guards, refusal)
    verdicts = await services.verification.verify(
        request.transactional_id or "", producers.pop(), list(asked), add=adds
    )
    for where, error in verdicts.items():
        if error is not ErrorCode.NONE:
            code = _for_writer(context, error, adds)
            why = f"{where.topic}-{where.partition} is not part of the transaction: {error.name}"
            guards[asked[where].key] = KafkaError(code, why)
    return guards


def _for_writer(context: Context, error: ErrorCode, adds: bool) -> ErrorCode:
    knows = context.version >= FIRST_THAT_KNOWS_ABORTABLE
    return error_for_writer(error, knows_abortable=knows, adds=adds)


def _batches(
    context: Context, request: ProduceRequest, forbidden: RefusedTopics
) -> list[_TransactionalBatch]:
    """Returns the transactional batches for partitions that this broker leads; others are refused later."""
    batches = []
    for topic in request.topic_data:
        topic_key: TopicKey = topic.topic_id if context.version >= FIRST_BY_ID else topic.name
        if topic_key in forbidden:
            continue  # it must not become part of the transaction
        for data in topic.partition_data:
            if data.records is None or len(data.records) < HEADER.size:
                continue
            header = read_header(data.records)
            if not header.is_transactional:
                continue
            try:
                partition = context.services.partitions.find(topic_key, data.index)
            except KafkaError:
                continue
            batches.append(_TransactionalBatch((topic_key, data.index), partition, header))
    return batches
