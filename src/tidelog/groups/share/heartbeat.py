"""ShareGroupHeartbeat: a member joins, stays, says what it reads, and learns its partitions.

Members share partitions, so no member waits for another to let go: a member takes its target at once.
"""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Uuid
from tidelog.coordination.decision import ShardDecision
from tidelog.groups.consumer.messages import JOINING
from tidelog.groups.consumer.topics import Topics
from tidelog.groups.record_formats.assignment import Assignment
from tidelog.groups.record_formats.holding import Holding, MemberState
from tidelog.groups.record_formats.share_group import ShareSubscription
from tidelog.groups.share.draft import Draft
from tidelog.groups.share.group import NO_MEMBER, ShareGroup
from tidelog.groups.share.making import begin_missing
from tidelog.groups.share.messages import HeartbeatAnswer, HeartbeatRequest
from tidelog.groups.share.room import ShareRoom
from tidelog.groups.share.target import rebalance


def heartbeat(
    draft: Draft, room: ShareRoom, topics: Topics, request: HeartbeatRequest
) -> ShardDecision[HeartbeatAnswer]:
    """`request` went through `checks`, and does not leave. KafkaError where it is refused."""
    step, member_id = draft.step, request.member_id
    before = _find(draft, request)
    after = _updated(before or NO_MEMBER, request)
    held = draft.group.holding(member_id)
    if after != before:
        draft.put_member(member_id, after)
    changed = before is None or before.topic_names != after.topic_names
    epoch = draft.group.epoch
    wait_ms = rebalance(draft, room, topics, changed=changed)
    holding = _move_on(draft, topics, member_id, changed=draft.group.epoch != epoch)
    to_make = begin_missing(draft, room, topics)
    room.start_session(step, request.group_id, member_id)
    is_full = request.member_epoch == JOINING or request.subscribed_topic_names is not None
    interval_ms = step.context.settings.of_group(request.group_id).int("share.heartbeat.interval.ms")
    answer = HeartbeatAnswer(
        member_id=member_id,
        member_epoch=holding.epoch,
        # A member whose target has to wait comes back for it as soon as it may be made.
        heartbeat_interval_ms=min(interval_ms, wait_ms) if wait_ms else interval_ms,
        assignment=holding.assigned if is_full or holding.assigned != held.assigned else None,
        to_make=to_make,
    )
    return step.answer(answer, HeartbeatAnswer)


def _find(draft: Draft, request: HeartbeatRequest) -> ShareSubscription | None:
    """What is known of the member; None for a new one. KafkaError where it must not go on as it is."""
    group, member_id = draft.group, request.member_id
    limit = draft.step.context.settings.share_members_max
    if len(group.members) >= limit and member_id not in group.members:
        full = f"The share group has reached its maximum capacity of {limit} members."
        raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, full)
    if request.member_epoch == JOINING:
        return group.members.get(member_id)
    member = group.find_member(member_id)
    _check_epoch(group, member_id, request.member_epoch)
    return member


def _check_epoch(group: ShareGroup, member_id: str, epoch: int) -> None:
    """The answer with the newest epoch may have been lost: the one before it is fine."""
    holding = group.holding(member_id)
    if epoch in (holding.epoch, holding.previous_epoch):
        return
    size = "greater" if epoch > holding.epoch else "smaller"
    why = f"The share group member has a {size} member epoch ({epoch}) than the one known by the group"
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"{why} coordinator ({holding.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _updated(member: ShareSubscription, request: HeartbeatRequest) -> ShareSubscription:
    """A field that the request leaves out stays as it was."""
    names = request.subscribed_topic_names
    return ShareSubscription(
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        topic_names=member.topic_names if names is None else tuple(sorted(set(names))),
    )


def _move_on(draft: Draft, topics: Topics, member_id: str, *, changed: bool) -> Holding[Uuid]:
    """Give a member its target, without what is gone or no longer read since the target was made."""
    group = draft.group
    holding = group.holding(member_id)
    is_there = member_id in group.holdings and holding.epoch == group.target_epoch
    if is_there and not changed:
        return holding
    assigned = _still_read(group, topics, member_id)
    previous = holding.previous_epoch if holding.epoch == group.target_epoch else holding.epoch
    moved = Holding(group.target_epoch, previous, MemberState.STABLE, assigned)
    if moved != holding or member_id not in group.holdings:
        draft.put_holding(member_id, moved)
    return moved


def _still_read(group: ShareGroup, topics: Topics, member_id: str) -> Assignment:
    names = group.members[member_id].topic_names
    read = {topics.by_name[name].topic_id for name in names if name in topics.by_name}
    return {topic: numbers for topic, numbers in group.target(member_id).items() if topic in read}
