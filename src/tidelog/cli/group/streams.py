"""Groups of Kafka Streams instances (KIP-1071), which librdkafka neither lists nor describes.

They are asked for over a plain socket, so they are shown only where that is how to talk to the brokers.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tidelog.base.errors import ErrorCode, ProtocolError
from tidelog.cli.connection import Cluster
from tidelog.cli.direct.call import call, is_plain
from tidelog.cli.group.lag import GroupInfo
from tidelog.clients.admin.results import GroupMember, Node
from tidelog.clients.records import TopicPartition
from tidelog.wire.apis import ApiKey
from tidelog.wire.message import Message

if TYPE_CHECKING:
    from tidelog.wire.messages.streams_group_describe import Assignment, DescribedGroup, Subtopology

TYPE = "Streams"
ASSIGNOR = "sticky"
LIST_VERSION = 5  # the first that asks for groups of one type


def list_streams_groups(cluster: Cluster) -> dict[str, str]:
    """{group: state}."""
    from tidelog.wire.messages.list_groups import ListGroupsRequest

    request = ListGroupsRequest(types_filter=["streams"])
    return {
        group.group_id: group.group_state
        for _, answer in _ask_all(cluster, ApiKey.LIST_GROUPS, LIST_VERSION, request)
        for group in answer.groups
    }


def find_streams_groups(cluster: Cluster, names: Collection[str]) -> dict[str, GroupInfo]:
    """Those of the names that are streams groups."""
    from tidelog.wire.messages.streams_group_describe import StreamsGroupDescribeRequest

    if not names:
        return {}
    request = StreamsGroupDescribeRequest(group_ids=list(names))
    found = [
        (node, group)
        for node, answer in _ask_all(cluster, ApiKey.STREAMS_GROUP_DESCRIBE, 0, request)
        for group in answer.groups
        if group.error_code == ErrorCode.NONE
    ]
    if not found:
        return {}
    topics = cluster.admin.list_topics(timeout=cluster.session.timeout_s).topics
    counts = {name: len(topic.partitions) for name, topic in topics.items()}
    return {group.group_id: streams_info(node, group, counts) for node, group in found}


def _ask_all(cluster: Cluster, api: ApiKey, version: int, request: Message) -> Iterator[tuple[Node, Any]]:
    """Every broker knows its own groups. One that is too old for the question is left out."""
    session = cluster.session
    if not is_plain(session):
        return
    for broker in cluster.admin.list_topics(timeout=session.timeout_s).brokers.values():
        try:
            answer = call((broker.host, broker.port), api, version, request, session.timeout_s)
        except (OSError, ProtocolError):
            continue
        yield Node(broker.id, broker.host, broker.port), answer


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
