"""Groups that librdkafka neither lists nor describes: our own requests go to every broker for them."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.blocking.errors import Disconnected
from tidelog.cli.connection import Cluster
from tidelog.cli.exits import CliError
from tidelog.cli.group import share, streams
from tidelog.cli.group.lag import GroupInfo
from tidelog.clients.admin.results import Node
from tidelog.wire.message import Message

TYPES = {"streams": streams.TYPE, "share": share.TYPE}
"""As the protocol spells them, and as the commands do."""
FIRST_WITH_TYPES = 5


class Typed(NamedTuple):
    state: str
    type: str


def list_typed_groups(cluster: Cluster) -> dict[str, Typed]:
    """By name."""
    from tidelog.wire.messages.list_groups import ListGroupsRequest

    request = ListGroupsRequest(types_filter=list(TYPES))
    return {
        group.group_id: Typed(group.group_state, TYPES[group.group_type.lower()])
        for _, answer in ask_all(cluster, request, FIRST_WITH_TYPES)
        for group in answer.groups
        if group.group_type.lower() in TYPES
    }


def ask_all(cluster: Cluster, request: Message, at_least: int = 0) -> Iterator[tuple[Node, Any]]:
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


def find_typed_groups(cluster: Cluster, names: Collection[str]) -> dict[str, GroupInfo]:
    """Those of the names that are streams groups or share groups."""
    from tidelog.wire.messages.share_group_describe import ShareGroupDescribeRequest
    from tidelog.wire.messages.streams_group_describe import StreamsGroupDescribeRequest

    if not names:
        return {}
    found = {
        group.group_id: share.share_info(node, group)
        for node, group in _described(cluster, ShareGroupDescribeRequest(group_ids=list(names)))
    }
    left = [name for name in names if name not in found]
    of_streams = list(_described(cluster, StreamsGroupDescribeRequest(group_ids=left))) if left else []
    if of_streams:
        topics = cluster.admin.list_topics(timeout=cluster.session.timeout_s).topics
        counts = {name: len(topic.partitions) for name, topic in topics.items()}
        found |= {group.group_id: streams.streams_info(node, group, counts) for node, group in of_streams}
    return found


def _described(cluster: Cluster, request: Message) -> Iterator[tuple[Node, Any]]:
    for node, answer in ask_all(cluster, request):
        for group in answer.groups:
            if group.error_code == ErrorCode.NONE:
                yield node, group
