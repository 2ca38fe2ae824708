"""DescribeSharePartitions: what share partitions look like that this broker leads.

An API of Tidelog's own, for `tidelog queue`. A group without members is loaded nowhere: the partitions that a
request names are then looked up in the stored state.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Offset
from tidelog.broker.handlers.shares.served import check_offered, shares_of
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.led_share import LedShare
from tidelog.broker.shares.share_partitions import SharePartitions
from tidelog.broker.shares.share_summary import NO_TIMESTAMP, SeenShare, oldest_timestamp, summarize
from tidelog.broker.turns import in_turns
from tidelog.replication.partition import Partition
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.shares.place import SharePlace
from tidelog.wire.messages.describe_share_partitions import (
    DeliveryCount,
    DescribedSharePartition,
    DescribeSharePartitionsRequest,
    DescribeSharePartitionsResponse,
    RecordStates,
    SharePartitionMember,
)

if TYPE_CHECKING:
    from tidelog.broker.shares.stored_share import StoredShare

ALL_PARTITIONS = -1
NOT_KNOWN = -1
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
    loaded: set[SharePlace] = set()
    if shares is not None:
        wanted = [led for led in shares if led.is_loaded and named.has(led)]
        async for piece in in_turns(wanted, PIECE):
            for led in piece:
                if led.is_current:
                    loaded.add(led.place)
                    response.partitions.append(_of_loaded(shares, led, request.states_from))
    if request.group_id:
        async for one in _stored(context, request.group_id, named, loaded, request.states_from):
            response.partitions.append(one)
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

    def led(self, context: Context) -> Iterator[Partition]:
        """The partitions that the request names one by one, and this broker leads."""
        for name, indexes in (self._topics or {}).items():
            for index in indexes:
                partition = context.services.partitions.led(name, index)
                if partition is not None:
                    yield partition

    def refused(self) -> Iterator[DescribedSharePartition]:
        """One for each topic that the client may not see: each has a name, which a request has once for any
        number of partitions."""
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        for name in self._refused:
            yield DescribedSharePartition(
                topic_name=name, partition=ALL_PARTITIONS, error_code=code, error_message=code.text
            )


async def _stored(
    context: Context, group_id: str, named: _Named, loaded: set[SharePlace], states_from: int
) -> AsyncIterator[DescribedSharePartition]:
    """What is not loaded here. Each state is a request to its coordinator, one after the other; the first
    that fails, after tries of some seconds, is the last."""
    from tidelog.broker.shares.stored_share import read_stored

    services = context.services
    async for piece in in_turns(named.led(context), PIECE):
        for partition in piece:
            place = SharePlace(group_id, partition.topic_id, partition.index)
            if place in loaded:
                continue
            try:
                shares = shares_of(services)
                now_ms = services.clock.now_ms()
                stored = await read_stored(shares.reader, shares.limits, place, partition, now_ms)
            except KafkaError as error:
                yield _refused(place, partition, error)
                return
            if stored is not None and partition.is_leader:
                yield _of_stored(stored, states_from)


def _refused(place: SharePlace, partition: Partition, error: KafkaError) -> DescribedSharePartition:
    return DescribedSharePartition(
        group_id=place.group_id,
        topic_name=partition.topic,
        topic_id=place.topic_id,
        partition=partition.index,
        error_code=error.code,
        error_message=error.message,
    )


def _of_stored(stored: "StoredShare", states_from: int) -> DescribedSharePartition:
    start = stored.share.start_offset
    stored.share.move_start(stored.partition.log.start)  # as a member's fetch does
    answer = _described(stored, states_from, start)
    answer.scheduled = NOT_KNOWN
    if (due_ms := stored.share.next_due_ms) is not None:
        answer.next_due_ms = due_ms
    return answer


def _of_loaded(shares: SharePartitions, led: LedShare, states_from: int) -> DescribedSharePartition:
    led.follow_log_start()
    share = led.share
    answer = _described(led, states_from, share.start_offset)
    now, now_ms = shares.clock.monotonic(), shares.clock.now_ms()
    due = [share.next_due_ms, None if shares.scheduled_due is None else shares.scheduled_due(led)]
    answer.next_due_ms = min((at for at in due if at is not None), default=NO_TIMESTAMP)
    answer.members = [
        SharePartitionMember(
            member_id=member_id,
            acquired=holder.records,
            next_deadline_ms=now_ms + int((holder.next_deadline - now) * 1000),
        )
        for member_id, holder in share.holders().items()
    ]
    if shares.dead_letter_problem is not None:
        answer.dead_letter_problem = shares.dead_letter_problem(led)
    return answer


def _described(seen: SeenShare, states_from: int, start: Offset) -> DescribedSharePartition:
    """`start` is the group's start offset. What is done is counted from there on, as far as the log has it;
    also what the window has passed in the meantime."""
    share, summary, place = seen.share, summarize(seen), seen.place
    log_start = seen.partition.log.start
    answer = DescribedSharePartition(
        group_id=place.group_id,
        topic_name=seen.partition.topic,
        topic_id=place.topic_id,
        partition=place.partition,
        leader_epoch=seen.leader_epoch,
        state_epoch=share.state_epoch,
        start_offset=start,
        end_offset=summary.end_offset,
        readable_end=summary.readable_end,
        log_start_offset=log_start,
        available=summary.available,
        acquired=summary.acquired,
        scheduled=summary.scheduled,
        delayed=summary.delayed,
        archiving=summary.archiving,
        done=share.done_from(max(start, log_start)),
        delivery_counts=[
            DeliveryCount(count=count, records=records) for count, records in share.delivery_counts().items()
        ],
    )
    if states_from >= 0:
        states, answer.states_to = share.record_states(states_from)
        answer.record_states = [
            RecordStates(
                first_offset=first,
                last_offset=last,
                delivery_state=state,
                delivery_count=count,
                available_at=available_at,
            )
            for first, last, state, count, available_at in states
        ]
    try:
        answer.oldest_timestamp = oldest_timestamp(seen)
    except KafkaError as error:
        answer.error_code, answer.error_message = error.code, error.message
    return answer
