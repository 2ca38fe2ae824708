"""DescribeProducers: the active producers of a partition, and the first offsets of open transactions.

Any replica responds for its own log, so that tools can look for a hanging transaction on one broker.
"""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


def handle(context: Context, request: DescribeProducersRequest) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    _describe(context, topic.name, index, is_allowed=is_allowed)
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
            for is_allowed in [context.allows(Operation.READ, ResourceType.TOPIC, topic.name)]
        ]
    )


def _describe(context: Context, topic: str, index: int, *, is_allowed: bool) -> PartitionResponse:
    try:
        if not is_allowed:
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        partition = context.services.partitions.find_any(topic, index)
    except KafkaError as error:
        return PartitionResponse(
            partition_index=index, error_code=error.code, error_message=error.message, active_producers=[]
        )
    return PartitionResponse(
        partition_index=index,
        error_code=ErrorCode.NONE,
        active_producers=[
            ProducerState(
                producer_id=producer_id,
                producer_epoch=producer.epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp,
                coordinator_epoch=producer.coordinator_epoch,
                current_txn_start_offset=producer.txn_first,
            )
            for producer_id, producer in partition.log.producers
        ],
    )
