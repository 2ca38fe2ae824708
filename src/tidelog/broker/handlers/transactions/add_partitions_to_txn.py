"""AddPartitionsToTxn: one transaction from a producer (to version 3), many from brokers (from 4 on).

Brokers ask in the name of producers: to add a partition that gets its first batch, or only whether it is in.
"""

import asyncio
from collections.abc import Iterable

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.transactions.permissions import check_transactional_id
from tidelog.broker.requests.context import Context
from tidelog.metadata.image.entities import PartitionImage
from tidelog.metadata.topics.names import CLUSTER_METADATA
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.transactions.messages import AddRequest
from tidelog.transactions.transaction import EPOCH_BUMPS, Identity, TopicPartition
from tidelog.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

LAST_FOR_CLIENTS = 3
KNOWS_FENCED_FROM = 2

Verdicts = dict[TopicPartition, ErrorCode]


async def handle(context: Context, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    if context.version > LAST_FOR_CLIENTS:
        if not context.allows_on_cluster(Operation.CLUSTER_ACTION):
            return AddPartitionsToTxnResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        asked = request.transactions
        if len(asked) == 1:  # as a single producer has it: without a task of its own
            results = [await _answer(context, asked[0])]
        else:
            results = await asyncio.gather(*(_answer(context, one) for one in asked))
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    wanted = _partitions(request.v3_and_below_topics)
    producer = Identity(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
    adding = AddRequest(request.v3_and_below_transactional_id, producer, wanted)
    verdicts = _refusals(context, adding) or await _add(context, adding)
    if context.version < KNOWS_FENCED_FROM:
        verdicts = {
            one: ErrorCode.INVALID_PRODUCER_EPOCH if error is ErrorCode.PRODUCER_FENCED else error
            for one, error in verdicts.items()
        }
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_shown(verdicts))


async def _answer(context: Context, asked: AddPartitionsToTxnTransaction) -> AddPartitionsToTxnResult:
    producer = Identity(asked.producer_id, asked.producer_epoch)
    wanted = AddRequest(asked.transactional_id, producer, _partitions(asked.topics), EPOCH_BUMPS)
    verdicts = await (_verify if asked.verify_only else _add)(context, wanted)
    return AddPartitionsToTxnResult(transactional_id=asked.transactional_id, topic_results=_shown(verdicts))


def _refusals(context: Context, asked: AddRequest) -> Verdicts:
    """Returns a verdict for every partition if the client may not do all that it asks for, else none."""
    try:
        check_transactional_id(context, asked.transactional_id)
    except KafkaError as error:
        return dict.fromkeys(asked.partitions, error.code)
    brokers_only = context.services.written_by_brokers | {CLUSTER_METADATA}
    refused = {
        topic
        for topic in dict.fromkeys(topic for topic, _ in asked.partitions)
        if topic in brokers_only or not context.allows(Operation.WRITE, ResourceType.TOPIC, topic)
    }
    if not refused:
        return {}
    image = context.services.metadata.image
    return {one: _refusal(one.topic in refused, image.partition(*one)) for one in asked.partitions}


def _refusal(is_refused: bool, partition: PartitionImage | None) -> ErrorCode:
    if is_refused:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if partition is None else ErrorCode.OPERATION_NOT_ATTEMPTED


async def _add(context: Context, wanted: AddRequest) -> Verdicts:
    """All or none of them."""
    image = context.services.metadata.image
    unknown = [one for one in wanted.partitions if image.partition(*one) is None]
    if unknown:
        return {
            one: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if one in unknown else ErrorCode.OPERATION_NOT_ATTEMPTED
            for one in wanted.partitions
        }
    try:
        served = context.services.transactions.of(wanted.transactional_id)
        error = await served.run_next(
            wanted.transactional_id, lambda _: served.shard.add(wanted, served.now_ms)
        )
    except KafkaError as refusal:
        error = refusal.code
    return dict.fromkeys(wanted.partitions, error)


async def _verify(context: Context, wanted: AddRequest) -> Verdicts:
    try:
        served = context.services.transactions.of(wanted.transactional_id)
        answers = await served.run(lambda _: served.shard.verify(wanted))
    except KafkaError as refusal:
        return dict.fromkeys(wanted.partitions, refusal.code)
    return {answer.partition: answer.error for answer in answers}


def _partitions(topics: Iterable[AddPartitionsToTxnTopic]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic.name, index) for topic in topics for index in topic.partitions)


def _shown(verdicts: Verdicts) -> list[AddPartitionsToTxnTopicResult]:
    topics: dict[str, AddPartitionsToTxnTopicResult] = {}
    for (topic, index), error in verdicts.items():
        shown = topics.setdefault(topic, AddPartitionsToTxnTopicResult(name=topic, results_by_partition=[]))
        shown.results_by_partition.append(
            AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=error)
        )
    return list(topics.values())
