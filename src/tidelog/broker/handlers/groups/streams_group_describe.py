"""StreamsGroupDescribe (KIP-1071): epochs, topology, members, the tasks of each and those it shall have."""

from collections.abc import Iterator, Sequence

from tidelog.broker.handlers.describe_by_id import check_topics, describe_each
from tidelog.broker.handlers.groups.streams_group_heartbeat import check_feature
from tidelog.broker.requests.context import Context
from tidelog.groups.record_formats.tasks import Role, Tasks, of_role
from tidelog.groups.streams.messages import DescribedMember, DescribedSubtopology, InternalTopic
from tidelog.wire.messages.streams_group_describe import (
    Assignment,
    DescribedGroup,
    Endpoint,
    KeyValue,
    Member,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)


async def handle(context: Context, request: StreamsGroupDescribeRequest) -> StreamsGroupDescribeResponse:
    return StreamsGroupDescribeResponse(
        groups=await describe_each(context, request, _describe, DescribedGroup)
    )


def _describe(context: Context, group_id: str) -> DescribedGroup:
    check_feature(context)
    found = context.services.groups.of(group_id).shard.streams_describe(group_id)
    if found.error:
        return DescribedGroup(group_id=group_id, error_code=found.error, error_message=found.error_message)
    check_topics(context, _names(found.subtopologies))
    return DescribedGroup(
        group_id=found.group_id,
        group_state=found.group_state,
        group_epoch=found.group_epoch,
        assignment_epoch=found.assignment_epoch,
        topology=Topology(
            epoch=found.topology_epoch, subtopologies=[_subtopology(part) for part in found.subtopologies]
        ),
        members=[_member(member) for member in found.members],
    )


def _names(subtopologies: Sequence[DescribedSubtopology]) -> Iterator[str]:
    for part in subtopologies:
        yield from part.source_topics
        yield from part.repartition_sink_topics
        for topic in (*part.state_changelog_topics, *part.repartition_source_topics):
            yield topic.name


def _subtopology(part: DescribedSubtopology) -> Subtopology:
    return Subtopology(
        subtopology_id=part.subtopology_id,
        source_topics=list(part.source_topics),
        repartition_sink_topics=list(part.repartition_sink_topics),
        state_changelog_topics=_topics(part.state_changelog_topics),
        repartition_source_topics=_topics(part.repartition_source_topics),
    )


def _topics(topics: Sequence[InternalTopic]) -> list[TopicInfo]:
    return [
        TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=max(topic.replication_factor, 0),
            topic_configs=_pairs(topic.configs),
        )
        for topic in topics
    ]


def _member(described: DescribedMember) -> Member:
    member = described.member
    return Member(
        member_id=described.member_id,
        member_epoch=described.member_epoch,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if member.endpoint is None else Endpoint(*member.endpoint),
        client_tags=_pairs(member.client_tags),
        assignment=_assignment(described.assignment),
        target_assignment=_assignment(described.target_assignment),
    )


def _assignment(tasks: Tasks) -> Assignment:
    active, standby, warmup = (
        [
            TaskIds(subtopology_id=subtopology_id, partitions=sorted(partitions))
            for subtopology_id, partitions in of_role(tasks, role).items()
        ]
        for role in Role
    )
    return Assignment(active_tasks=active, standby_tasks=standby, warmup_tasks=warmup)


def _pairs(pairs: Sequence[tuple[str, str]]) -> list[KeyValue]:
    return [KeyValue(key=key, value=value) for key, value in pairs]
