"""What StreamsGroupDescribe shows."""

from tidelog.base.errors import ErrorCode
from tidelog.groups.group import Group
from tidelog.groups.streams.configured import internal_topic
from tidelog.groups.streams.group import StreamsGroup
from tidelog.groups.streams.messages import (
    DescribedMember,
    DescribedStreamsGroup,
    DescribedSubtopology,
    InternalTopic,
)
from tidelog.groups.streams.room import StreamsRoom
from tidelog.wire.messages.streams_group_heartbeat import Subtopology, TopicInfo


def describe(group_id: str, group: Group | None, room: StreamsRoom) -> DescribedStreamsGroup:
    if not isinstance(group, StreamsGroup):
        why = f"Group {group_id} not found." if group is None else f"Group {group_id} is not a streams group."
        return DescribedStreamsGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND, why)
    topology = group.topology
    counts = _partition_counts(group, room)
    parts = [] if topology is None else sorted(topology.subtopologies, key=lambda part: part.subtopology_id)
    return DescribedStreamsGroup(
        group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        topology_epoch=0 if topology is None else topology.epoch,
        subtopologies=[_part(part, counts) for part in parts],
        members=[
            DescribedMember(
                member_id,
                member,
                group.holding(member_id).epoch,
                group.holding(member_id).assigned,
                group.target(member_id),
            )
            for member_id, member in group.members.items()
        ],
    )


def _partition_counts(group: StreamsGroup, room: StreamsRoom) -> dict[str, int]:
    """Of internal topics; those of a topology whose topics do not fit are not known."""
    topics = room.shared.topics
    if group.topology is None or topics is None:
        return {}
    configured = room.passing(group.id).configured(group.topology, topics)
    if not configured.is_ready or configured.parts is None:
        return {}
    return {
        topic.name: topic.partitions
        for part in configured.parts.values()
        for topic in (*part.repartition_sources, *part.changelogs)
    }


def _part(part: Subtopology, counts: dict[str, int]) -> DescribedSubtopology:
    def listed(topics: list[TopicInfo]) -> list[InternalTopic]:
        return [internal_topic(topic, counts) for topic in sorted(topics, key=lambda topic: topic.name)]

    return DescribedSubtopology(
        part.subtopology_id,
        sorted(part.source_topics),
        sorted(part.repartition_sink_topics),
        listed(part.repartition_source_topics),
        listed(part.state_changelog_topics),
    )
