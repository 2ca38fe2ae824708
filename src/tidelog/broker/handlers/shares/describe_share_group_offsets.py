"""DescribeShareGroupOffsets (KIP-932): where share groups are in their partitions, and how far behind.

The lag is that of Kafka 4.3: the number of records from the start offset to the end of the partition, without
those in between that the group has finished with.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Uuid
from tidelog.broker.handlers.shares.partition_ends import Ends, partition_ends
from tidelog.broker.handlers.shares.served import check_offered, persister_of
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.state_requests import summary_request
from tidelog.broker.turns import names_in_turns
from tidelog.groups.share.offsets import check_group_id
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages import describe_share_group_offsets as wire
from tidelog.wire.messages import read_share_group_state_summary as summary

NO_OFFSET = -1
NO_LAG = -1
NO_TOPIC = bytes(16)
GROUPS_AT_ONCE = 100

Asked = Mapping[str, Sequence[int]]
"""Topic name to partitions."""


async def handle(
    context: Context, request: wire.DescribeShareGroupOffsetsRequest
) -> wire.DescribeShareGroupOffsetsResponse:
    response = wire.DescribeShareGroupOffsetsResponse()
    times = Counter(group.group_id for group in request.groups)
    async for piece in names_in_turns(request.groups, _chars_in, GROUPS_AT_ONCE):
        response.groups += await asyncio.gather(
            *(_describe(context, group, is_repeated=times[group.group_id] > 1) for group in piece)
        )
    return response


def _chars_in(group: wire.DescribeShareGroupOffsetsRequestGroup) -> int:
    return len(group.group_id) + sum(len(topic.topic_name) for topic in group.topics or ())


async def _describe(
    context: Context, group: wire.DescribeShareGroupOffsetsRequestGroup, *, is_repeated: bool
) -> wire.DescribeShareGroupOffsetsResponseGroup:
    group_id = group.group_id
    try:
        check_offered(context.services)
        if not context.allows(Operation.DESCRIBE, ResourceType.GROUP, group_id):
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        if is_repeated:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "the request names the group more than once")
        check_group_id(group_id)
        refused: list[str] = []
        if group.topics is None:
            asked = _all_topics(context, group_id)
        else:
            named = {topic.topic_name: list(dict.fromkeys(topic.partitions)) for topic in group.topics}
            refused = [
                name for name in named if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name)
            ]
            asked = {name: numbers for name, numbers in named.items() if name not in refused}
        topics = await _describe_topics(context, group_id, asked) if asked else []
    except KafkaError as error:
        return wire.DescribeShareGroupOffsetsResponseGroup(
            group_id=group_id, error_code=error.code, error_message=error.message
        )
    for name in refused:
        topics.append(_unknown(name, named[name], ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    return wire.DescribeShareGroupOffsetsResponseGroup(group_id=group_id, topics=topics)


def _all_topics(context: Context, group_id: str) -> Asked:
    """The partitions with share state, of the topics that the client may see."""
    shard = context.services.groups.of(group_id).shard
    group = shard.durable.share_groups.get(group_id)
    image = context.services.metadata.image
    asked = {}
    for topic_id, stored in {} if group is None else group.states.initialized.items():
        topic = image.topic_by_id(topic_id)
        if topic is not None and context.may_see(ResourceType.TOPIC, topic.name):
            asked[topic.name] = sorted(stored.partitions)
    return asked


async def _describe_topics(
    context: Context, group_id: str, asked: Asked
) -> list[wire.DescribeShareGroupOffsetsResponseTopic]:
    context.services.groups.of(group_id)  # asks the client to look for the coordinator where this is not it
    image = context.services.metadata.image
    names: dict[Uuid, str] = {}
    wanted: dict[Uuid, list[int]] = {}
    unknown = []
    for name, numbers in asked.items():
        topic = image.topic(name)
        if topic is None:
            unknown.append(_unknown(name, numbers))
            continue
        # The coordinators of partitions that do not exist are not asked, however many a request names.
        missing = [number for number in numbers if topic.partition(number) is None]
        if missing:
            unknown.append(_unknown(name, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic.id))
        if len(missing) < len(numbers):
            names[topic.id] = name
            wanted[topic.id] = [number for number in numbers if topic.partition(number) is not None]
    if not names:
        return unknown
    answer = await persister_of(context.services).read_summary(summary_request(group_id, wanted))
    known = [result for result in answer.results if result.topic_id in names]
    behind = [
        (names[result.topic_id], one.partition)
        for result in known
        for one in result.partitions
        if _has_lag(one)
    ]
    ends = await partition_ends(context.services, behind)
    return [_topic(names[result.topic_id], result, ends) for result in known] + unknown


def _has_lag(one: summary.PartitionResult) -> bool:
    is_known = one.start_offset != NO_OFFSET and one.delivery_complete_count != -1
    return is_known and one.error_code == ErrorCode.NONE


def _topic(
    name: str, result: summary.ReadStateSummaryResult, ends: Ends
) -> wire.DescribeShareGroupOffsetsResponseTopic:
    return wire.DescribeShareGroupOffsetsResponseTopic(
        topic_name=name,
        topic_id=result.topic_id,
        partitions=[_partition(one, ends.get((name, one.partition))) for one in result.partitions],
    )


def _partition(
    one: summary.PartitionResult, end: int | ErrorCode | None
) -> wire.DescribeShareGroupOffsetsResponsePartition:
    if one.error_code or isinstance(end, ErrorCode):
        error = end if isinstance(end, ErrorCode) else ErrorCode.of(one.error_code)
        return _failed(one.partition, error, one.error_message)
    return wire.DescribeShareGroupOffsetsResponsePartition(
        partition_index=one.partition,
        start_offset=one.start_offset,
        leader_epoch=one.leader_epoch,
        lag=NO_LAG if end is None else max(end - one.start_offset - one.delivery_complete_count, 0),
    )


def _unknown(
    name: str, numbers: Sequence[int], error: ErrorCode = ErrorCode.NONE, topic_id: Uuid = NO_TOPIC
) -> wire.DescribeShareGroupOffsetsResponseTopic:
    """Of a topic that does not exist, there is no offset, and no error either."""
    return wire.DescribeShareGroupOffsetsResponseTopic(
        topic_name=name, topic_id=topic_id, partitions=[_failed(number, error) for number in numbers]
    )


def _failed(
    number: int, error: ErrorCode, message: str | None = None
) -> wire.DescribeShareGroupOffsetsResponsePartition:
    return wire.DescribeShareGroupOffsetsResponsePartition(
        partition_index=number,
        start_offset=NO_OFFSET,
        lag=NO_LAG,
        error_code=error,
        error_message=message or (error.text if error else None),
    )
