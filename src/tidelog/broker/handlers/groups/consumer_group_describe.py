"""ConsumerGroupDescribe (KIP-848): epochs, members, what each owns and what it shall own."""

from collections.abc import Iterator, Mapping

from tidelog.base.ids import Uuid
from tidelog.broker.handlers.describe_by_id import check_topics, describe_each
from tidelog.broker.requests.context import Context
from tidelog.groups.consumer.messages import DescribedConsumerGroup, DescribedMember
from tidelog.wire.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)


async def handle(context: Context, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=await describe_each(context, request, _describe, DescribedGroup)
    )


def _describe(context: Context, group_id: str) -> DescribedGroup:
    found = context.services.groups.of(group_id).shard.consumer_describe(group_id)
    check_topics(context, _topics(found))
    return DescribedGroup(
        error_code=found.error,
        error_message=found.error_message,
        group_id=found.group_id,
        group_state=found.group_state,
        group_epoch=found.group_epoch,
        assignment_epoch=found.assignment_epoch,
        assignor_name=found.assignor_name,
        members=[_member(member, found.topic_names) for member in found.members],
    )


def _topics(found: DescribedConsumerGroup) -> Iterator[str]:
    """The topics that the answer names with their partitions; subscriptions are the members' own words."""
    for member in found.members:
        for topic_id in (*member.assignment, *member.target_assignment):
            if topic_id in found.topic_names:
                yield found.topic_names[topic_id]


def _member(member: DescribedMember, names: Mapping[Uuid, str]) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=_assignment(member.assignment, names),
        target_assignment=_assignment(member.target_assignment, names),
        member_type=member.member_type,
    )


def _assignment(given: Mapping[Uuid, frozenset[int]], names: Mapping[Uuid, str]) -> Assignment:
    """Leaves out topics that were deleted meanwhile: they have no name."""
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=names[topic_id], partitions=sorted(partitions))
            for topic_id, partitions in given.items()
            if topic_id in names
        ]
    )
