"""What ConsumerGroupDescribe shows."""

from tidelog.base.errors import ErrorCode
from tidelog.groups.consumer.group import ConsumerGroup
from tidelog.groups.consumer.messages import DescribedConsumerGroup, DescribedMember
from tidelog.groups.consumer.room import AnyGroup
from tidelog.groups.consumer.topics import Topics

CLASSIC, CONSUMER = 0, 1


def describe(
    group_id: str, group: AnyGroup | None, topics: Topics | None, default_assignor: str
) -> DescribedConsumerGroup:
    if not isinstance(group, ConsumerGroup):
        why = (
            f"Group {group_id} not found." if group is None else f"Group {group_id} is not a consumer group."
        )
        return DescribedConsumerGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND, why)
    members = [_member(group, member_id) for member_id in group.members]
    ids = {topic for member in members for topic in (*member.assignment, *member.target_assignment)}
    names = {} if topics is None else topics.names_by_id
    return DescribedConsumerGroup(
        group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.assignor_name(default_assignor),
        members=members,
        topic_names={topic: names[topic] for topic in ids if topic in names},
    )


def _member(group: ConsumerGroup, member_id: str) -> DescribedMember:
    member, holding = group.members[member_id], group.holding(member_id)
    return DescribedMember(
        member_id,
        member.instance_id,
        member.rack_id,
        holding.epoch,
        member.client_id,
        member.client_host,
        member.topic_names,
        member.topic_regex,
        holding.assigned,
        group.target(member_id),
        CONSUMER if member.classic is None else CLASSIC,
    )
