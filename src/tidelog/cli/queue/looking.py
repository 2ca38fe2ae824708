"""Queues as they are now: members and start offsets of coordinators, the rest of the partitions' leaders."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tidelog.base.errors import ErrorCode
from tidelog.cli.cluster.view import Broker, look_at_brokers
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.queue.calls import LOOK_AGAIN, ask, ask_coordinator, no_such_queue
from tidelog.cli.queue.standing import Holder, Member, Queue, QueuePartition, merged, stored_partition
from tidelog.clients.records import TopicPartition

if TYPE_CHECKING:
    from tidelog.wire.messages.describe_share_partitions import DescribeSharePartitionsTopic

SHARE = "share"
FIRST_WITH_TYPES = 5
GROUPS_MAX = 200
"""In one request."""
ABSENT = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.RESOURCE_NOT_FOUND)

Reported = dict[str, list[QueuePartition]]
"""By group."""


def list_queues(direct: DirectCluster) -> list[Queue]:
    """Every share group. A broker lists the groups that it coordinates, so it can describe them as well."""
    from tidelog.wire.messages.list_groups import ListGroupsRequest

    brokers = look_at_brokers(direct).alive
    reported = _reported_by(direct, brokers, None)
    found: list[Queue] = []
    for broker in brokers:
        request = ListGroupsRequest(types_filter=[SHARE])
        answer = direct.repeat(
            partial(ask, direct, broker, request, FIRST_WITH_TYPES),
            lambda answer: answer.error_code in LOOK_AGAIN,
        )
        if answer.error_code:
            raise refusal(answer.error_code, None, f"Broker {broker.id} does not list its groups")
        names = [group.group_id for group in answer.groups]
        for first in range(0, len(names), GROUPS_MAX):
            found += _described(direct, broker, names[first : first + GROUPS_MAX], reported or {})
    if reported is not None:
        found = [_looked_up(direct, brokers, queue) for queue in found]
    return sorted(found, key=lambda queue: queue.name)


def _looked_up(direct: DirectCluster, brokers: Sequence[Broker], queue: Queue) -> Queue:
    """With what is stored of partitions that no leader has loaded, where something waits."""
    unknown = [part for part in queue.partitions if part.leader is None and part.depth]
    if not unknown:
        return queue
    reported = _reported_by(direct, brokers, queue.name, unknown) or {}
    parts = merged(queue.partitions, reported.get(queue.name, ()), is_empty=not queue.members)
    return replace(queue, partitions=parts)


def find_queue(direct: DirectCluster, name: str) -> Queue:
    """NOT_FOUND where there is no such share group."""
    answer, coordinator = ask_coordinator(
        direct, name, _describe([name]), lambda answer: answer.groups[0].error_code
    )
    group = answer.groups[0]
    if group.error_code in ABSENT:
        raise no_such_queue(name, direct)
    if group.error_code:
        raise refusal(group.error_code, group.error_message, f"Group '{name}'")
    offsets, _ = ask_coordinator(direct, name, _offsets([name]), lambda answer: answer.groups[0].error_code)
    stored = _stored(offsets.groups[0])
    reported = _reported_by(direct, look_at_brokers(direct).alive, name, stored) or {}
    return _queue(coordinator, group, stored, reported.get(name, []))


def reported_partitions(direct: DirectCluster, name: str) -> list[QueuePartition] | None:
    """What the leaders of the partitions know; None where they are of Apache Kafka, which has no request."""
    reported = _reported_by(direct, look_at_brokers(direct).alive, name)
    return None if reported is None else reported.get(name, [])


def _described(
    direct: DirectCluster, broker: Broker, names: Sequence[str], reported: Reported
) -> list[Queue]:
    described = ask(direct, broker, _describe(names))
    offsets = {group.group_id: group for group in ask(direct, broker, _offsets(names)).groups}
    queues = []
    for group in described.groups:
        if group.error_code in ABSENT:  # deleted since
            continue
        stored = offsets.get(group.group_id)
        if stored is None or group.error_code or stored.error_code in LOOK_AGAIN:
            queues.append(find_queue(direct, group.group_id))  # moved since, or the error is worth saying
        else:
            queues.append(_queue(broker, group, _stored(stored), reported.get(group.group_id, [])))
    return queues


def _describe(names: Sequence[str]) -> Any:
    from tidelog.wire.messages.share_group_describe import ShareGroupDescribeRequest

    return ShareGroupDescribeRequest(group_ids=list(names))


def _offsets(names: Sequence[str]) -> Any:
    from tidelog.wire.messages import describe_share_group_offsets as wire

    groups = [wire.DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None) for name in names]
    return wire.DescribeShareGroupOffsetsRequest(groups=groups)


def _queue(
    coordinator: Broker, group: Any, stored: Iterable[QueuePartition], reported: Iterable[QueuePartition]
) -> Queue:
    members = (
        Member(
            member.member_id,
            member.client_id,
            member.client_host.lstrip("/"),
            tuple(
                sorted(
                    TopicPartition(topic.topic_name, partition)
                    for topic in member.assignment.topic_partitions
                    for partition in topic.partitions
                )
            ),
        )
        for member in group.members
    )
    ordered = tuple(sorted(members, key=lambda member: (member.client_id, member.member_id)))
    parts = merged(stored, reported, is_empty=not ordered)
    return Queue(group.group_id, group.group_state, coordinator.id, ordered, parts)


def _stored(group: Any) -> list[QueuePartition]:
    """What the coordinator knows: start offsets, and since Kafka 4.2 the lag."""
    if group.error_code in ABSENT:
        return []
    if group.error_code:
        raise refusal(group.error_code, group.error_message, f"The offsets of group '{group.group_id}'")
    return [
        stored_partition(
            TopicPartition(topic.topic_name, part.partition_index),
            _known(part.start_offset),
            _known(part.lag),
        )
        for topic in group.topics
        for part in topic.partitions
        if not part.error_code
    ]


def _reported_by(
    direct: DirectCluster,
    brokers: Iterable[Broker],
    name: str | None,
    parts: Iterable[QueuePartition] | None = None,
) -> Reported | None:
    """What leaders say of the partitions; of those that are named, also what is stored alone. None where
    brokers are of Apache Kafka, which has no request for it."""
    from tidelog.wire.messages.describe_share_partitions import DescribeSharePartitionsRequest

    request = DescribeSharePartitionsRequest(group_id=name, topics=None if parts is None else named(parts))
    found: Reported = {}
    for broker in brokers:
        try:
            answer = ask(direct, broker, request)
        except CliError as error:
            if error.code is Exit.REFUSED:  # it does not offer the request
                return None
            raise
        if answer.error_code:
            raise refusal(answer.error_code, answer.error_message, f"The queues at broker {broker.id}")
        for part in answer.partitions:
            if part.partition >= 0:
                found.setdefault(part.group_id, []).append(_reported(part, broker.id))
    return found


def named(parts: Iterable[QueuePartition]) -> "list[DescribeSharePartitionsTopic]":
    from tidelog.wire.messages.describe_share_partitions import DescribeSharePartitionsTopic

    topics: dict[str, list[int]] = {}
    for part in parts:
        topics.setdefault(part.place.topic, []).append(part.place.partition)
    return [DescribeSharePartitionsTopic(name=topic, partitions=indexes) for topic, indexes in topics.items()]


def _reported(part: Any, leader: int) -> QueuePartition:
    place = TopicPartition(part.topic_name, part.partition)
    if part.error_code:
        return QueuePartition(place, error=part.error_message or ErrorCode.of(part.error_code).text)
    return QueuePartition(
        place,
        start_offset=_known(part.start_offset),
        end_offset=_known(part.readable_end),
        depth=max(0, part.readable_end - max(part.start_offset, part.log_start_offset) - part.done),
        in_flight=part.acquired,
        scheduled=_known(part.scheduled),
        delayed=part.delayed,
        dying=part.archiving,
        next_due_ms=_known(part.next_due_ms),
        oldest_ms=_known(part.oldest_timestamp),
        deliveries=tuple((each.count, each.records) for each in part.delivery_counts),
        holders=tuple(
            Holder(each.member_id, each.acquired, _known(each.next_deadline_ms)) for each in part.members
        ),
        leader=leader,
        problem=part.dead_letter_problem,
    )


def _known(number: int) -> int | None:
    return number if number >= 0 else None
