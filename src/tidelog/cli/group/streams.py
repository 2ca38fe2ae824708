"""Groups of Kafka Streams instances (KIP-1071), which librdkafka neither lists nor describes."""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tidelog.base.errors import ErrorCode
from tidelog.blocking.errors import Disconnected
from tidelog.cli.connection import Cluster
from tidelog.cli.exits import CliError
from tidelog.cli.group.lag import GroupInfo
from tidelog.clients.admin.results import GroupMember, Node
from tidelog.clients.records import TopicPartition
from tidelog.wire.message import Message

if TYPE_CHECKING:
    from tidelog.wire.messages.streams_group_describe import Assignment, DescribedGroup, Subtopology

TYPE = "Streams"
ASSIGNOR = "sticky"
FIRST_WITH_TYPES = 5


def list_streams_groups(cluster: Cluster) -> dict[str, str]:
    """{group: state}."""
    from tidelog.wire.messages.list_groups import ListGroupsRequest

    request = ListGroupsRequest(types_filter=["streams"])
    return {
        group.group_id: group.group_state
        for _, answer in _ask_all(cluster, request, FIRST_WITH_TYPES)
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
        for node, answer in _ask_all(cluster, request)
        for group in answer.groups
        if group.error_code == ErrorCode.NONE
    ]
    if not found:
        return {}
    topics = cluster.admin.list_topics(timeout=cluster.session.timeout_s).topics
    counts = {name: len(topic.partitions) for name, topic in topics.items()}
    return {group.group_id: streams_info(node, group, counts) for node, group in found}


def _ask_all(cluster: Cluster, request: Message, at_least: int = 0) -> Iterator[tuple[Node, Any]]:
    """Asks every broker for the groups that it coordinates; skips those that are too old for the request."""
    from tidelog.cli.direct.cluster import DirectCluster

    session = cluster.session
    for broker in cluster.admin.list_topics(timeout=session.timeout_s).brokers.values():
        try:
            direct = DirectCluster(session)
            answer = direct.ask_broker((broker.host, broker.port), request, at_least=at_least)
        except (Disconnected, CliError):
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
