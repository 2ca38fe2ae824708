"""DescribeSharePartitions: what the share partitions that are loaded on this broker look like.

An API of Tidelog's own, for `tidelog queue`. Each broker answers for the partitions that it leads; a group
without members is loaded nowhere, and its offsets are in its stored state.
"""

from collections.abc import Callable, Iterator

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.shares.served import check_offered
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.led_share import LedShare
from tidelog.broker.shares.share_partitions import SharePartitions
from tidelog.broker.shares.share_summary import NO_TIMESTAMP, oldest_timestamp, summarize
from tidelog.broker.turns import in_turns
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.describe_share_partitions import (
    DeliveryCount,
    DescribedSharePartition,
    DescribeSharePartitionsRequest,
    DescribeSharePartitionsResponse,
    SharePartitionMember,
)

ALL_PARTITIONS = -1
PIECE = 4
"""Share partitions described in one turn: the window of each may be large."""


async def handle(
    context: Context, request: DescribeSharePartitionsRequest
) -> DescribeSharePartitionsResponse:
    try:
        check_offered(context.services)
        _check_group(context, request.group_id)
    except KafkaError as error:
        return DescribeSharePartitionsResponse(error_code=error.code, error_message=error.message)
    named = _Named(context, request)
    response = DescribeSharePartitionsResponse(partitions=list(named.refused()))
    shares = context.services.shares
    if shares is not None:
        wanted = [led for led in shares if led.is_loaded and named.has(led)]
        async for piece in in_turns(wanted, PIECE):
            response.partitions += [_described(shares, led) for led in piece if led.is_current]
    return response


def _check_group(context: Context, group_id: str | None) -> None:
    if group_id is not None and not context.allows(Operation.DESCRIBE, ResourceType.GROUP, group_id):
        raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)


class _Named:
    """The group and the topics that a request is about, as far as the client may see them."""

    def __init__(self, context: Context, request: DescribeSharePartitionsRequest) -> None:
        self._group_id = request.group_id
        self._sees: Callable[[ResourceType, str], bool] = context.may_see
        self._topics: dict[str, set[int]] | None = None
        self._refused: dict[str, None] = {}
        if request.topics is None:
            return
        self._topics = {}
        for topic in request.topics:
            if context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.name):
                self._topics[topic.name] = set(topic.partitions)
            else:
                self._refused[topic.name] = None

    def has(self, led: LedShare) -> bool:
        if self._group_id is None:
            if not self._sees(ResourceType.GROUP, led.place.group_id):
                return False
        elif led.place.group_id != self._group_id:
            return False
        topic = led.partition.topic
        if self._topics is None:
            return self._sees(ResourceType.TOPIC, topic)
        indexes = self._topics.get(topic)
        return indexes is not None and (not indexes or led.place.partition in indexes)

    def refused(self) -> Iterator[DescribedSharePartition]:
        """One for each topic that the client may not see: each has a name, which a request has once for any
        number of partitions."""
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        for name in self._refused:
            yield DescribedSharePartition(
                topic_name=name, partition=ALL_PARTITIONS, error_code=code, error_message=code.text
            )


def _described(shares: SharePartitions, led: LedShare) -> DescribedSharePartition:
    share, summary, place = led.share, summarize(led), led.place
    now, now_ms = shares.clock.monotonic(), shares.clock.now_ms()
    due = [share.next_due_ms, None if shares.scheduled_due is None else shares.scheduled_due(led)]
    answer = DescribedSharePartition(
        group_id=place.group_id,
        topic_name=led.partition.topic,
        topic_id=place.topic_id,
        partition=place.partition,
        leader_epoch=led.leader_epoch,
        state_epoch=share.state_epoch,
        start_offset=summary.start_offset,
        end_offset=summary.end_offset,
        readable_end=summary.readable_end,
        available=summary.available,
        acquired=summary.acquired,
        scheduled=summary.scheduled,
        delayed=summary.delayed,
        archiving=summary.archiving,
        done=summary.done,
        next_due_ms=min((at for at in due if at is not None), default=NO_TIMESTAMP),
        delivery_counts=[
            DeliveryCount(count=count, records=records) for count, records in share.delivery_counts().items()
        ],
        members=[
            SharePartitionMember(
                member_id=member_id,
                acquired=holder.records,
                next_deadline_ms=now_ms + int((holder.next_deadline - now) * 1000),
            )
            for member_id, holder in share.holders().items()
        ],
    )
    if shares.dead_letter_problem is not None:
        answer.dead_letter_problem = shares.dead_letter_problem(led)
    try:
        answer.oldest_timestamp = oldest_timestamp(led)
    except KafkaError as error:
        answer.error_code, answer.error_message = error.code, error.message
    return answer
