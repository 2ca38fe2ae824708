"""A group of Kafka Streams instances (KIP-1071) as the group commands show it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelog.cli.group.lag import GroupInfo
from tidelog.clients.admin.results import GroupMember, Node
from tidelog.clients.records import TopicPartition

if TYPE_CHECKING:
    from tidelog.wire.messages.streams_group_describe import Assignment, DescribedGroup, Subtopology

TYPE = "Streams"
ASSIGNOR = "sticky"


def streams_info(node: Node, group: "DescribedGroup", counts: Mapping[str, int]) -> GroupInfo:
    """A member's active tasks are shown as the partitions that they read."""
    parts = (
        {part.subtopology_id: part for part in (group.topology.subtopologies or [])} if group.topology else {}
    )
    members = (
        GroupMember(
            member.member_id,
            member.client_id,
            member.client_host.lstrip("/"),
            member.instance_id,
            _places(member.assignment, parts, counts),
            _places(member.target_assignment, parts, counts),
        )
        for member in group.members
    )
    ordered = tuple(sorted(members, key=lambda member: (member.client_id, member.member_id)))
    return GroupInfo(group.group_id, group.group_state, TYPE, ASSIGNOR, node, ordered)


def _places(
    assignment: "Assignment", parts: Mapping[str, "Subtopology"], counts: Mapping[str, int]
) -> tuple[TopicPartition, ...]:
    places = []
    for task in assignment.active_tasks:
        part = parts.get(task.subtopology_id)
        if part is not None:
            names = [*part.source_topics, *(topic.name for topic in part.repartition_source_topics)]
            places += [
                TopicPartition(name, number)
                for name in names
                for number in task.partitions
                if number < counts.get(name, 0)
            ]
    return tuple(sorted(places))
