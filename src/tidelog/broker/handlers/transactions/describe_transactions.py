"""DescribeTransactions: how far transactions are, and in which partitions."""

import asyncio

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.broker.turns import names_in_turns
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.transactions.messages import DescribedTransaction
from tidelog.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)


async def handle(context: Context, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    response = DescribeTransactionsResponse()
    async for piece in names_in_turns(list(dict.fromkeys(request.transactional_ids)), len):
        found = await asyncio.gather(*(_describe(context, one) for one in piece))
        response.transaction_states += [_shown(context, one) for one in found]
    return response


async def _describe(context: Context, transactional_id: str) -> DescribedTransaction:
    try:
        if not context.allows(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transactional_id):
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        served = context.services.transactions.of(transactional_id)
    except KafkaError as refusal:
        return DescribedTransaction(transactional_id, refusal.code)
    return await served.when_committed(
        lambda: served.shard.describe(transactional_id),
        lambda error: DescribedTransaction(transactional_id, error),
    )


def _shown(context: Context, found: DescribedTransaction) -> TransactionState:
    topics: dict[str, list[int]] = {}
    for topic, partition in found.partitions:
        if context.may_see(ResourceType.TOPIC, topic):
            topics.setdefault(topic, []).append(partition)
    return TransactionState(
        error_code=found.error,
        transactional_id=found.transactional_id,
        transaction_state=found.state,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time=found.started_ms,
        producer_id=found.producer.producer_id,
        producer_epoch=found.producer.epoch,
        topics=[TopicData(topic=name, partitions=indexes) for name, indexes in topics.items()],
    )
