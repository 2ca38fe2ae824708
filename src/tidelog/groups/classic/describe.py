"""What DescribeGroups shows of a classic group."""

from tidelog.groups.classic.group import ClassicGroup
from tidelog.groups.classic.messages import DescribedGroup, DescribedMember
from tidelog.groups.classic.states import State


def describe(group: ClassicGroup) -> DescribedGroup:
    """Metadata is shown in a stable group only: before that its protocol is not decided."""
    stable = group.state is State.STABLE
    members = [
        DescribedMember(
            member.id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.metadata(group.protocol) if stable else b"",
            member.assignment,
        )
        for member in group.members.values()
    ]
    return DescribedGroup(
        group.id,
        group_state=group.state_name,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol or "") if stable else "",
        members=members,
    )
