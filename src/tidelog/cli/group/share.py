"""A share group (KIP-932) as the group commands show it; its records are shown by `tidelog queue`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.group.lag import GroupInfo
from tidelog.clients.admin.results import GroupMember, Node
from tidelog.clients.records import TopicPartition

if TYPE_CHECKING:
    from tidelog.wire.messages.share_group_describe import DescribedGroup, Member

TYPE = "Share"


def share_info(node: Node, group: "DescribedGroup") -> GroupInfo:
    members = (
        GroupMember(
            member.member_id,
            member.client_id,
            member.client_host.lstrip("/"),
            None,
            _places(member),
            _places(member),
        )
        for member in group.members
    )
    ordered = tuple(sorted(members, key=lambda member: (member.client_id, member.member_id)))
    return GroupInfo(group.group_id, group.group_state, TYPE, group.assignor_name, node, ordered)


def is_share(group: GroupInfo) -> bool:
    return group.type == TYPE


def refuse_share_groups(groups: Iterable[GroupInfo], attempt: str) -> None:
    """Raises REFUSED for a share group: it commits no offsets, but has a state for each record."""
    for group in groups:
        if is_share(group):
            raise CliError(
                f"Group '{group.name}' is a share group, which has no committed offsets.",
                cause="it is a queue: its members take and acknowledge single records.",
                attempt=attempt.format(name=group.name),
                code=Exit.REFUSED,
            )


def _places(member: "Member") -> tuple[TopicPartition, ...]:
    """Members take their target at once: what they have is what they should have."""
    places = (
        TopicPartition(topic.topic_name, number)
        for topic in member.assignment.topic_partitions
        for number in topic.partitions
    )
    return tuple(sorted(places))
