"""Members of the classic protocol in a group of the new kind: JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

Their generation is their member epoch. A join does what a heartbeat of the new protocol does, a sync fetches
the assignment, and a heartbeat tells when it is time to join again. No member waits for another.
"""

from collections import Counter
from collections.abc import Sequence

from tidelog.base.errors import ErrorCode, KafkaError, StorageError
from tidelog.base.pending import Pending
from tidelog.coordination.decision import ShardDecision
from tidelog.groups.classic.join import ID_REQUIRED_FROM
from tidelog.groups.classic.messages import (
    NO_MEMBER,
    JoinAnswer,
    JoinRequest,
    LeaveAnswer,
    LeavingMember,
    LeftMember,
    SyncAnswer,
    SyncRequest,
)
from tidelog.groups.consumer.conversion import can_downgrade, downgrade
from tidelog.groups.consumer.draft import Draft
from tidelog.groups.consumer.embedded_protocol import (
    EmbeddedSubscription,
    by_id,
    by_name,
    read_subscription,
    write_assignment,
)
from tidelog.groups.consumer.group import NO_SUBSCRIPTION, ConsumerGroup
from tidelog.groups.consumer.heartbeat import check_room, move_on, replace_static
from tidelog.groups.consumer.leave import end_removal
from tidelog.groups.consumer.member_timers import Wait
from tidelog.groups.consumer.room import ConsumerRoom
from tidelog.groups.consumer.target import rebalance, update_member, wait_ms
from tidelog.groups.consumer.topics import Topics
from tidelog.groups.consumer_protocol import PROTOCOL_TYPE
from tidelog.groups.record_formats.consumer_group import ClassicProtocols, Subscription
from tidelog.groups.record_formats.holding import MemberState
from tidelog.groups.step import Step


def join(
    draft: Draft, room: ConsumerRoom, topics: Topics, request: JoinRequest, new_id: str
) -> ShardDecision[JoinAnswer]:
    """`request` went through the checks of classic joins; `new_id` is for one who has none yet."""
    is_unknown = request.member_id == NO_MEMBER
    member_id = new_id if is_unknown else request.member_id
    instance_id = request.group_instance_id
    check_room(draft, member_id, instance_id)
    _check_protocols(draft.group, member_id, request)
    embedded = _embedded(request)
    if is_unknown and instance_id is None and request.api_version >= ID_REQUIRED_FROM:
        return ShardDecision(Pending.ready(JoinAnswer(ErrorCode.MEMBER_ID_REQUIRED, member_id)))
    before = _find(draft, member_id, instance_id, is_unknown=is_unknown)
    was_mixed = draft.group.classic_members < len(draft.group.members)
    after = _joined(before or NO_SUBSCRIPTION, request, embedded)
    changed = update_member(draft, topics, member_id, before, after, may_see=request.may_see)
    if was_mixed and can_downgrade(draft.step, draft.group, None):
        # A static member came back with the classic protocol, and was the last of the new one.
        downgrade(draft, room, None)
        again = JoinAnswer(ErrorCode.REBALANCE_IN_PROGRESS, member_id)
        return draft.step.answer(again, lambda error: JoinAnswer(error, request.member_id))
    rebalance(draft, room, topics, changed=changed, may_see=request.may_see)
    holding = move_on(draft, room, topics, member_id, by_id(embedded.owned, topics))
    room.timers.stop(Wait.JOIN, request.group_id, member_id)
    room.timers.stop(Wait.REVOCATION, request.group_id, member_id)
    room.start_session(draft.step, request.group_id, member_id, after)
    room.start_timer(draft.step, Wait.SYNC, request.group_id, member_id, after)
    answer = JoinAnswer(
        member_id=member_id,
        generation_id=holding.epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=request.protocols[0][0],
    )
    return draft.step.answer(answer, lambda error: JoinAnswer(error, request.member_id))


def sync(
    step: Step, room: ConsumerRoom, topics: Topics, group: ConsumerGroup, request: SyncRequest
) -> SyncAnswer:
    member_id = request.member_id
    member, classic = _classic_member(group, member_id, request.group_instance_id)
    holding = group.holding(member_id)
    if request.generation_id != holding.epoch:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    protocol, metadata = classic.protocols[0]
    for given, known in ((request.protocol_type, PROTOCOL_TYPE), (request.protocol_name, protocol)):
        if given is not None and given != known:
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    room.start_session(step, group.id, member_id, member)
    if _next_epoch(step, group) > holding.epoch and holding.state is not MemberState.UNREVOKED_PARTITIONS:
        _expect_join(step, room, group, member_id, member)
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    room.timers.stop(Wait.SYNC, group.id, member_id)
    version = int.from_bytes(metadata[:2], "big")
    assignment = write_assignment(by_name(holding.assigned, topics), version)
    return SyncAnswer(ErrorCode.NONE, PROTOCOL_TYPE, protocol, assignment)


def heartbeat(
    step: Step,
    room: ConsumerRoom,
    group: ConsumerGroup,
    who: LeavingMember,
    generation: int,
) -> None:
    """KafkaError where the member has to do something, above all to join again."""
    member, _ = _classic_member(group, who.member_id, who.group_instance_id)
    holding = group.holding(who.member_id)
    if generation != holding.epoch:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    room.start_session(step, group.id, who.member_id, member)
    if (
        holding.epoch < _next_epoch(step, group)
        or holding.state is MemberState.UNREVOKED_PARTITIONS
        or (holding.state is MemberState.UNRELEASED_PARTITIONS and not _waits(group, who.member_id))
    ):
        _expect_join(step, room, group, who.member_id, member)
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)


def leave(draft: Draft, room: ConsumerRoom, leaving: Sequence[LeavingMember]) -> ShardDecision[LeaveAnswer]:
    results = []
    for one in leaving:
        member_id, error = one.member_id, ErrorCode.NONE
        try:
            if member_id == NO_MEMBER and one.group_instance_id is not None:  # an admin sends it away
                member_id = draft.group.static_ids.get(one.group_instance_id, NO_MEMBER)
            _classic_member(draft.group, member_id, one.group_instance_id)
            draft.remove_member(member_id)
        except KafkaError as refusal:
            error = refusal.code
        results.append(LeftMember(member_id, one.group_instance_id, error))
    if draft.step.records:
        end_removal(draft, room)
    return draft.step.answer(LeaveAnswer(members=results), LeaveAnswer)


def _check_protocols(group: ConsumerGroup, member_id: str, request: JoinRequest) -> None:
    knowing: Counter[str] = Counter()
    others = 0
    for other_id, other in group.members.items():
        if other.classic is not None and other_id != member_id:
            others += 1
            knowing.update(name for name, _ in other.classic.protocols)
    fits = request.protocol_type == PROTOCOL_TYPE and any(
        knowing[name] == others for name, _ in request.protocols
    )
    if not fits:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _embedded(request: JoinRequest) -> EmbeddedSubscription:
    try:
        return read_subscription(request.protocols[0][1])
    except StorageError as cause:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, str(cause)) from cause


def _find(draft: Draft, member_id: str, instance_id: str | None, *, is_unknown: bool) -> Subscription | None:
    if instance_id is None:
        return draft.group.members.get(member_id)
    if not is_unknown:
        return draft.group.find_member(member_id, instance_id)
    holder = draft.group.static_ids.get(instance_id)
    if holder is not None:
        replace_static(draft, holder, member_id)
    return draft.group.members.get(member_id)


def _joined(member: Subscription, request: JoinRequest, embedded: EmbeddedSubscription) -> Subscription:
    return Subscription(
        instance_id=request.group_instance_id,
        rack_id=embedded.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        topic_names=tuple(sorted(set(embedded.topics))),
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        assignor=member.assignor,
        classic=ClassicProtocols(request.session_timeout_ms, tuple(request.protocols)),
    )


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[Subscription, ClassicProtocols]:
    member = group.find_member(member_id, instance_id)
    if member.classic is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol."
        )
    return member, member.classic


def _next_epoch(step: Step, group: ConsumerGroup) -> int:
    """The epoch that a join would reach: while the next target has to wait, that of the last."""
    return group.target_epoch if wait_ms(step, group) else group.epoch


def _expect_join(
    step: Step, room: ConsumerRoom, group: ConsumerGroup, member_id: str, member: Subscription
) -> None:
    room.timers.start_if_stopped(step, Wait.JOIN, group.id, member_id, member.rebalance_timeout_ms)


def _waits(group: ConsumerGroup, member_id: str) -> bool:
    """Whether another member still has a partition of its target."""
    assigned = group.holding(member_id).assigned
    return any(
        (topic, number) in group.owners
        for topic, numbers in group.target(member_id).items()
        for number in numbers - assigned.get(topic, frozenset())
    )
