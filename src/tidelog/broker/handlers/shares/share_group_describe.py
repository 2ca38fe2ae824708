"""ShareGroupDescribe (KIP-932): epochs, members, and the partitions of each."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.describe_by_id import check_topics, describe_each
from tidelog.broker.handlers.shares.served import check_offered
from tidelog.broker.requests.context import Context
from tidelog.groups.share.messages import ASSIGNOR, DescribedMember, DescribedShareGroup
from tidelog.wire.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)


async def handle(context: Context, request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(groups=await describe_each(context, request, _describe, DescribedGroup))


def _describe(context: Context, group_id: str) -> DescribedGroup:
    check_offered(context.services)
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    found = context.services.groups.of(group_id).shard.share_describe(group_id)
    if found.error:
        return DescribedGroup(group_id=group_id, error_code=found.error, error_message=found.error_message)
    check_topics(context, found.topic_names.values())
    return DescribedGroup(
        group_id=found.group_id,
        group_state=found.group_state,
        group_epoch=found.group_epoch,
        assignment_epoch=found.assignment_epoch,
        assignor_name=ASSIGNOR,
        members=[_member(found, member) for member in found.members],
    )


def _member(found: DescribedShareGroup, described: DescribedMember) -> Member:
    member = described.member
    return Member(
        member_id=described.member_id,
        rack_id=member.rack_id,
        member_epoch=described.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
        assignment=Assignment(
            topic_partitions=[
                TopicPartitions(
                    topic_id=topic, topic_name=found.topic_names[topic], partitions=sorted(partitions)
                )
                for topic, partitions in described.assignment.items()
                if topic in found.topic_names
            ]
        ),
    )
