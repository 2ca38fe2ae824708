"""Metadata: the topics, the leaders of their partitions, and the endpoints of the brokers.

Naming a topic that does not exist creates it where both the client and `auto.create.topics.enable` agree.
A topic that the client may not describe is refused whether it exists or not, and left out where the request
names none.
"""

from collections.abc import Coroutine, Iterable, Set

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import ZERO_UUID
from tidelog.broker.controller.topic_changes import auto_create
from tidelog.broker.requests.context import Context
from tidelog.metadata.image.entities import NO_LEADER, PartitionImage, TopicImage
from tidelog.metadata.topics.names import is_internal, why_illegal
from tidelog.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from tidelog.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

FIRST_VERSION_BY_ID = 12


def handle(
    context: Context, request: MetadataRequest
) -> MetadataResponse | Coroutine[None, None, MetadataResponse]:
    services = context.services
    if _asks_by_id_too_early(context, request):
        return _refused(request)
    names = [topic.name for topic in request.topics or () if topic.name and topic.topic_id == ZERO_UUID]
    refused = {name for name in names if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name)}
    if names and request.allow_auto_topic_creation:
        image = services.metadata.image
        missing = [name for name in names if name not in refused and image.topic(name) is None]
        if missing and services.config.bool("auto.create.topics.enable"):
            refused |= _not_creatable(context, missing)
            missing = [name for name in missing if name not in refused]
            if missing:
                return _create_first(context, request, missing, refused)
    return _answer(context, request, refused)


def _not_creatable(context: Context, names: Iterable[str]) -> Set[str]:
    if context.may(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME):
        return frozenset()
    return {name for name in names if not context.allows(Operation.CREATE, ResourceType.TOPIC, name)}


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


async def _create_first(
    context: Context, request: MetadataRequest, missing: list[str], refused: Set[str]
) -> MetadataResponse:
    await auto_create(context.services, missing)
    image = context.services.metadata.image
    created = [image.topic(name) for name in dict.fromkeys(missing)]
    context.charge_created(sum(len(topic.partitions) for topic in created if topic is not None))
    return _answer(context, request, refused)


def _answer(context: Context, request: MetadataRequest, refused: Set[str]) -> MetadataResponse:
    services, wanted = context.services, request.topics
    image = services.metadata.image
    if wanted is None or (context.version == 0 and not wanted):
        sees = context.sees_topics
        shown = (topic for topic in image.topics.values() if sees is None or sees(topic.name))
        topics = [_describe(context, request, topic) for topic in shown]
    else:
        named_once = {(topic.name, topic.topic_id): topic for topic in wanted}
        topics = [
            _not_shown(topic) if topic.name in refused else _find(context, request, topic)
            for topic in named_once.values()
        ]
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
        response.cluster_authorized_operations = context.operations_on_cluster()
    return response


def _find(context: Context, request: MetadataRequest, wanted: MetadataRequestTopic) -> MetadataResponseTopic:
    image = context.services.metadata.image
    if wanted.name is None or wanted.topic_id != ZERO_UUID:
        by_id = image.topic_by_id(wanted.topic_id)
        if by_id is None:
            code = ErrorCode.UNKNOWN_TOPIC_ID
        elif context.allows(Operation.DESCRIBE, ResourceType.TOPIC, by_id.name):
            return _describe(context, request, by_id)
        else:
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return MetadataResponseTopic(error_code=code, name=None, topic_id=wanted.topic_id, partitions=[])
    by_name = image.topic(wanted.name)
    if by_name is not None:
        return _describe(context, request, by_name)
    bad = why_illegal(wanted.name) is not None
    code = ErrorCode.INVALID_TOPIC_EXCEPTION if bad else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return MetadataResponseTopic(error_code=code, name=wanted.name, is_internal=is_internal(wanted.name))


def _not_shown(wanted: MetadataRequestTopic) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=wanted.name)


def _describe(context: Context, request: MetadataRequest, topic: TopicImage) -> MetadataResponseTopic:
    answer = MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=is_internal(topic.name),
        partitions=list(_partitions(context, topic.partitions)),
    )
    if request.include_topic_authorized_operations:
        answer.topic_authorized_operations = context.operations_on(ResourceType.TOPIC, topic.name)
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
