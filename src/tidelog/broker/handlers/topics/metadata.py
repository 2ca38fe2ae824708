"""Metadata: the topics, the leaders of their partitions, and the endpoints of the brokers.

Naming a topic that does not exist creates it where both the client and `auto.create.topics.enable` agree.
"""

from collections.abc import Coroutine, Iterable

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import ZERO_UUID
from tidelog.broker.controller.topic_changes import auto_create
from tidelog.broker.requests.context import Context
from tidelog.metadata.image.entities import NO_LEADER, PartitionImage, TopicImage
from tidelog.metadata.topics.names import is_internal, why_illegal
from tidelog.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

FIRST_VERSION_BY_ID = 12


def _operations(*codes: int) -> int:
    """Kafka's bit field of what the caller may do; without ACLs, all that makes sense for the resource."""
    return sum(1 << code for code in codes)


# read 3, write 4, create 5, delete 6, alter 7, describe 8, cluster action 9, describe configs 10,
# alter configs 11, idempotent write 12
TOPIC_OPERATIONS = _operations(3, 4, 5, 6, 7, 8, 10, 11)
CLUSTER_OPERATIONS = _operations(5, 7, 8, 9, 10, 11, 12)


def handle(
    context: Context, request: MetadataRequest
) -> MetadataResponse | Coroutine[None, None, MetadataResponse]:
    services = context.services
    if _asks_by_id_too_early(context, request):
        return _refused(request)
    if request.topics and request.allow_auto_topic_creation:
        image = services.metadata.image
        missing = [topic.name for topic in request.topics if topic.name and image.topic(topic.name) is None]
        if missing and services.config.bool("auto.create.topics.enable"):
            return _create_first(context, request, missing)
    return _answer(context, request)


def _asks_by_id_too_early(context: Context, request: MetadataRequest) -> bool:
    """Versions 10 and 11 carry topic ids in requests, but a broker must not serve them (KAFKA-10774)."""
    return context.version < FIRST_VERSION_BY_ID and any(
        topic.topic_id != ZERO_UUID for topic in request.topics or ()
    )


def _refused(request: MetadataRequest) -> MetadataResponse:
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(
                error_code=ErrorCode.INVALID_REQUEST, name=topic.name or "", topic_id=topic.topic_id
            )
            for topic in request.topics or ()
        ]
    )


async def _create_first(context: Context, request: MetadataRequest, missing: list[str]) -> MetadataResponse:
    await auto_create(context.services, missing)
    return _answer(context, request)


def _answer(context: Context, request: MetadataRequest) -> MetadataResponse:
    services, wanted = context.services, request.topics
    image = services.metadata.image
    if wanted is None or (context.version == 0 and not wanted):
        topics = [_describe(context, request, topic) for topic in image.topics.values()]
    else:
        named_once = {(topic.name, topic.topic_id): topic for topic in wanted}
        topics = [_find(context, request, topic) for topic in named_once.values()]
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=broker.id, host=where.host, port=where.port, rack=broker.rack)
            for broker, where in services.metadata.reachable_brokers(context.connection.listener)
        ],
        cluster_id=image.cluster_id,
        controller_id=services.metadata.controller_for_clients,
        topics=topics,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


def _find(context: Context, request: MetadataRequest, wanted: MetadataRequestTopic) -> MetadataResponseTopic:
    image = context.services.metadata.image
    if wanted.name is None or wanted.topic_id != ZERO_UUID:
        by_id = image.topic_by_id(wanted.topic_id)
        if by_id is not None:
            return _describe(context, request, by_id)
        return MetadataResponseTopic(
            error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=wanted.topic_id, partitions=[]
        )
    by_name = image.topic(wanted.name)
    if by_name is not None:
        return _describe(context, request, by_name)
    bad = why_illegal(wanted.name) is not None
    code = ErrorCode.INVALID_TOPIC_EXCEPTION if bad else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return MetadataResponseTopic(error_code=code, name=wanted.name, is_internal=is_internal(wanted.name))


def _describe(context: Context, request: MetadataRequest, topic: TopicImage) -> MetadataResponseTopic:
    answer = MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=is_internal(topic.name),
        partitions=list(_partitions(context, topic.partitions)),
    )
    if request.include_topic_authorized_operations:
        answer.topic_authorized_operations = TOPIC_OPERATIONS
    return answer


def _partitions(
    context: Context, partitions: Iterable[PartitionImage]
) -> Iterable[MetadataResponsePartition]:
    live = context.services.metadata.live_broker_ids()
    for partition in partitions:
        leaderless = partition.leader == NO_LEADER
        yield MetadataResponsePartition(
            error_code=ErrorCode.LEADER_NOT_AVAILABLE if leaderless else ErrorCode.NONE,
            partition_index=partition.index,
            leader_id=partition.leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=list(partition.replicas),
            isr_nodes=list(partition.isr),
            offline_replicas=partition.replicas_outside(live),
        )
