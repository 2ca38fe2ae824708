"""DescribeTopicPartitions: topics in pages, for clusters too large to describe at once (KIP-966)."""

from collections.abc import Iterable
from itertools import islice

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Context
from tidelog.metadata.image.entities import NO_LEADER, PartitionImage
from tidelog.metadata.topics.names import is_internal, why_illegal
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

PARTITIONS_MAX = 2000


def handle(context: Context, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    image = context.services.metadata.image
    names = sorted({topic.name for topic in request.topics} or _seen_topics(context))
    cursor = request.cursor
    if cursor is not None and (
        cursor.partition_index < 0 or (request.topics and cursor.topic_name not in names)
    ):
        return _refused(names)
    if cursor is not None:
        names = [name for name in names if name >= cursor.topic_name]
    refused = _not_allowed(context, names) if request.topics else []
    names = [name for name in names if name not in refused] if refused else names
    room = min(max(request.response_partition_limit, 1), PARTITIONS_MAX)
    response = DescribeTopicPartitionsResponse()
    for name in names:
        if room == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = image.topic(name)
        if topic is None:
            response.topics.append(
                DescribeTopicPartitionsResponseTopic(
                    error_code=_why_missing(name),
                    name=name,
                    is_internal=is_internal(name),
                    topic_authorized_operations=context.operations_on(ResourceType.TOPIC, name),
                )
            )
            continue
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        shown = list(islice(topic.partitions, first, first + room))
        room -= len(shown)
        response.topics.append(
            DescribeTopicPartitionsResponseTopic(
                name=name,
                topic_id=topic.id,
                is_internal=is_internal(name),
                partitions=[_partition(context, partition) for partition in shown],
                topic_authorized_operations=context.operations_on(ResourceType.TOPIC, name),
            )
        )
        if first + len(shown) < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=first + len(shown))
            break
    response.topics += [
        DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name)
        for name in refused
    ]
    return response


def _seen_topics(context: Context) -> Iterable[str]:
    sees = context.sees_topics
    topics = context.services.metadata.image.topics
    return topics if sees is None else filter(sees, topics)


def _not_allowed(context: Context, names: Iterable[str]) -> list[str]:
    return [name for name in names if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name)]


def _why_missing(name: str) -> ErrorCode:
    return ErrorCode.INVALID_TOPIC_EXCEPTION if why_illegal(name) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _refused(names: list[str]) -> DescribeTopicPartitionsResponse:
    """Refuse a cursor that no response of ours can have contained."""
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=name)
            for name in names
        ]
    )


def _partition(context: Context, partition: PartitionImage) -> DescribeTopicPartitionsResponsePartition:
    leaderless = partition.leader == NO_LEADER
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if leaderless else ErrorCode.NONE,
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.elr),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=partition.replicas_outside(context.services.metadata.live_broker_ids()),
    )
