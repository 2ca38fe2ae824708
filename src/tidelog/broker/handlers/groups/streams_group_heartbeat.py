"""StreamsGroupHeartbeat (KIP-1071): join with a topology, stay, leave; the answer says which tasks to run.

Internal topics that are missing are created before the answer goes out; it says that they were missing, and
the next heartbeat finds them.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.streams_topics import create_missing
from tidelog.broker.handlers.when_served import waits_for_group
from tidelog.broker.requests.context import Context
from tidelog.groups.record_formats.streams_group import new_topology
from tidelog.groups.record_formats.tasks import Duty, Role, Tasks, of_role
from tidelog.groups.streams.messages import Endpoint as EndpointOf
from tidelog.groups.streams.messages import (
    HeartbeatAnswer,
    HeartbeatRequest,
    InternalTopic,
    Status,
    StatusCode,
)
from tidelog.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from tidelog.wire.messages import streams_group_heartbeat as wire
from tidelog.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    TaskIds,
)


async def handle(context: Context, request: StreamsGroupHeartbeatRequest) -> StreamsGroupHeartbeatResponse:
    try:
        check_feature(context)
        _check_allowed(context, request)
        beat = _request(context, request)
        answer: StreamsGroupHeartbeatResponse = await _beat_once_served(context, beat)
    except KafkaError as error:
        return StreamsGroupHeartbeatResponse(error_code=error.code, error_message=error.message)
    return answer


@waits_for_group()
async def _beat_once_served(context: Context, beat: HeartbeatRequest) -> StreamsGroupHeartbeatResponse:
    served = context.services.groups.of(beat.group_id)
    decision = served.shard.streams_heartbeat(beat, *served.now)
    answered = served.run_in_order(decision, lambda answer: answer)
    answer = await answered if isinstance(answered, asyncio.Future) else answered
    if answer.missing_topics:
        note = await _create(context, answer.missing_topics)
        answer = answer._replace(statuses=[_with(status, note) for status in answer.statuses])
    return _response(answer)


def check_feature(context: Context) -> None:
    """KafkaError while the cluster does not use streams groups, as one that an early version made."""
    if not context.services.metadata.image.features.get("streams.version"):
        why = "Streams groups are not enabled: raise the feature streams.version to 1."
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, why)


def _check_allowed(context: Context, request: StreamsGroupHeartbeatRequest) -> None:
    if not context.allows(Operation.READ, ResourceType.GROUP, request.group_id):
        raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    for name in dict.fromkeys(_topology_topics(request)):
        if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _topology_topics(request: StreamsGroupHeartbeatRequest) -> Iterator[str]:
    for part in () if request.topology is None else request.topology.subtopologies:
        yield from part.source_topics
        yield from part.repartition_sink_topics
        for topic in (*part.repartition_source_topics, *part.state_changelog_topics):
            yield topic.name


def _request(context: Context, request: StreamsGroupHeartbeatRequest) -> HeartbeatRequest:
    if request.task_offsets is not None or request.task_end_offsets is not None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "TaskOffsets and TaskEndOffsets are not supported yet.")
    topology, endpoint, tags = request.topology, request.user_endpoint, request.client_tags
    return HeartbeatRequest(
        request.group_id,
        request.member_id,
        request.member_epoch,
        request.endpoint_information_epoch,
        request.instance_id,
        request.rack_id,
        request.rebalance_timeout_ms,
        None if topology is None else new_topology(topology.epoch, topology.subtopologies),
        _tasks(request.active_tasks, request.standby_tasks, request.warmup_tasks),
        request.process_id,
        None if endpoint is None else (endpoint.host, endpoint.port),
        None if tags is None else tuple(sorted((tag.key, tag.value) for tag in tags)),
        request.shutdown_application,
        context.client_id or "",
        f"/{context.connection.host}",
    )


def _tasks(*by_role: Sequence[TaskIds] | None) -> Tasks | None:
    given = [listed for listed in by_role if listed is not None]
    if not given:
        return None
    if len(given) < len(by_role):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "If one task-type is non-null, all must be non-null.")
    return {
        Duty(role, of.subtopology_id): frozenset(of.partitions)
        for role, listed in zip(Role, given, strict=True)
        for of in listed
        if of.partitions
    }


async def _create(context: Context, missing: Sequence[InternalTopic]) -> str:
    """Returns why topics are still missing; empty where they were created. All of them are, or none."""
    names = [topic.name for topic in missing]
    if not context.may(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME):
        refused = [name for name in names if not context.allows(Operation.CREATE, ResourceType.TOPIC, name)]
        if refused:
            return f"Unauthorized to CREATE on topics {', '.join(refused)}."
    metadata = context.services.metadata
    new = [topic for topic in missing if metadata.image.topic(topic.name) is None]
    failures = await create_missing(context.services, missing)
    context.charge_created(sum(topic.partitions for topic in new if metadata.image.topic(topic.name)))
    return f"Creation of topics failed: {', '.join(failures)}" if failures else ""


def _with(status: Status, note: str) -> Status:
    if status.code is not StatusCode.MISSING_INTERNAL_TOPICS or not note:
        return status
    return status._replace(detail=f"{status.detail}; {note}")


def _response(answer: HeartbeatAnswer) -> StreamsGroupHeartbeatResponse:
    tasks = answer.tasks
    active, standby, warmup = (None if tasks is None else task_ids(tasks, role) for role in Role)
    endpoints = answer.endpoints
    return StreamsGroupHeartbeatResponse(
        error_code=answer.error,
        error_message=answer.error_message,
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        status=[wire.Status(status_code=code, status_detail=detail) for code, detail in answer.statuses],
        active_tasks=active,
        standby_tasks=standby,
        warmup_tasks=warmup,
        endpoint_information_epoch=answer.endpoint_information_epoch,
        partitions_by_user_endpoint=None if endpoints is None else [_endpoint(one) for one in endpoints],
    )


def task_ids(tasks: Tasks, role: Role) -> list[TaskIds]:
    return [
        TaskIds(subtopology_id=subtopology_id, partitions=sorted(partitions))
        for subtopology_id, partitions in of_role(tasks, role).items()
    ]


def _endpoint(endpoint: EndpointOf) -> wire.EndpointToPartitions:
    return wire.EndpointToPartitions(
        user_endpoint=wire.Endpoint(host=endpoint.host, port=endpoint.port),
        active_partitions=_topics(endpoint.active),
        standby_partitions=_topics(endpoint.standby),
    )


def _topics(partitions: Mapping[str, Sequence[int]]) -> list[wire.TopicPartition]:
    return [
        wire.TopicPartition(topic=topic, partitions=list(numbers)) for topic, numbers in partitions.items()
    ]
