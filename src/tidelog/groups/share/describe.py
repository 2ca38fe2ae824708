"""What ShareGroupDescribe shows."""

from tidelog.base.errors import ErrorCode
from tidelog.groups.consumer.topics import Topics
from tidelog.groups.group import Group
from tidelog.groups.share.group import ShareGroup
from tidelog.groups.share.messages import DescribedMember, DescribedShareGroup


def describe(group_id: str, group: Group | None, topics: Topics | None) -> DescribedShareGroup:
    if not isinstance(group, ShareGroup):
        why = f"Group {group_id} not found." if group is None else f"Group {group_id} is not a share group."
        return DescribedShareGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND, why)
    members = [
        DescribedMember(member_id, member, group.holding(member_id).epoch, group.holding(member_id).assigned)
        for member_id, member in group.members.items()
    ]
    names = {} if topics is None else topics.names_by_id
    ids = {topic for member in members for topic in member.assignment}
    return DescribedShareGroup(
        group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        members=members,
        topic_names={topic: names[topic] for topic in ids if topic in names},
    )
