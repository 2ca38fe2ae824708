"""ConsumerGroupHeartbeat: a member joins, stays, says what it wants and has, and learns what to do.

Every heartbeat does the same three things as far as they are needed: store what is new about the member, give
the group a target for its newest epoch, and take the member one step towards its target.
"""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Uuid, uuid_from_random, uuid_text
from tidelog.coordination.decision import ShardDecision
from tidelog.groups.consumer.draft import Draft
from tidelog.groups.consumer.group import NO_SUBSCRIPTION, ConsumerGroup
from tidelog.groups.consumer.member_timers import Wait
from tidelog.groups.consumer.messages import JOINING, LEAVING_FOR_A_WHILE, HeartbeatAnswer, HeartbeatRequest
from tidelog.groups.consumer.reconciliation import Target, is_within, reconcile
from tidelog.groups.consumer.room import ConsumerRoom
from tidelog.groups.consumer.target import rebalance, update_member
from tidelog.groups.consumer.topics import Topics
from tidelog.groups.record_formats.assignment import Assignment
from tidelog.groups.record_formats.consumer_group import Subscription
from tidelog.groups.record_formats.holding import Holding, MemberState


def heartbeat(
    draft: Draft, room: ConsumerRoom, topics: Topics, request: HeartbeatRequest
) -> ShardDecision[HeartbeatAnswer]:
    """`request` went through `checks`, and does not leave. KafkaError where it is refused."""
    member_id = request.member_id or uuid_text(uuid_from_random(draft.step.context.random.bytes(16)))
    owned = owned_partitions(request)
    check_room(draft, member_id, request.instance_id)
    before = _find(draft, member_id, request, owned)
    held = draft.group.holding(member_id)
    after = _updated(before or NO_SUBSCRIPTION, request)
    changed = update_member(draft, topics, member_id, before, after, may_see=request.may_see)
    wait_ms = rebalance(draft, room, topics, changed=changed, may_see=request.may_see)
    holding = move_on(draft, room, topics, member_id, owned)
    room.start_session(draft.step, request.group_id, member_id, after)
    if before is not None and before.classic is not None:  # it speaks the new protocol from now on
        room.timers.stop(Wait.JOIN, request.group_id, member_id)
        room.timers.stop(Wait.SYNC, request.group_id, member_id)
    is_new = request.member_epoch == JOINING or holding.assigned != held.assigned
    interval_ms = draft.step.context.settings.of_group(request.group_id).int("consumer.heartbeat.interval.ms")
    answer = HeartbeatAnswer(
        member_id=member_id,
        member_epoch=holding.epoch,
        # A member whose target has to wait comes back for it as soon as it may be made.
        heartbeat_interval_ms=min(interval_ms, wait_ms) if wait_ms else interval_ms,
        assignment=holding.assigned if is_new or _is_full(request) else None,
    )
    return draft.step.answer(answer, HeartbeatAnswer)


def move_on(
    draft: Draft, room: ConsumerRoom, topics: Topics, member_id: str, owned: Assignment | None
) -> Holding[Uuid]:
    """Take a member one step towards its target, and note by when it has to take the next."""
    group = draft.group
    member, holding = group.members[member_id], group.holding(member_id)
    wanted = _wanted(group, topics, member_id)
    moved = reconcile(holding, Target(group.target_epoch, wanted, group.owners), owned)
    if moved == holding:
        return holding
    draft.put_holding(member_id, moved)
    if member.classic is None:
        if moved.state is MemberState.UNREVOKED_PARTITIONS:
            room.start_timer(draft.step, Wait.REVOCATION, group.id, member_id, member)
        else:
            room.timers.stop(Wait.REVOCATION, group.id, member_id)
    return moved


def replace_static(draft: Draft, old_id: str, new_id: str) -> None:
    """A static member came back under another id: it takes over all that was stored of it."""
    member, target = draft.group.members[old_id], draft.group.target(old_id)
    holding = draft.group.holding(old_id)._replace(epoch=0, previous_epoch=0)
    draft.remove_member(old_id)
    draft.put_member(new_id, member)
    draft.put_target(new_id, target)
    draft.put_holding(new_id, holding)


def check_room(draft: Draft, member_id: str, instance_id: str | None) -> None:
    limit = draft.step.context.settings.consumer_members_max
    group = draft.group
    if len(group.members) >= limit and member_id not in group.members and instance_id not in group.static_ids:
        full = f"The consumer group has reached its maximum capacity of {limit} members."
        raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, full)


def owned_partitions(request: HeartbeatRequest) -> Assignment | None:
    if request.topic_partitions is None:
        return None
    return {topic: frozenset(partitions) for topic, partitions in request.topic_partitions if partitions}


def _wanted(group: ConsumerGroup, topics: Topics, member_id: str) -> Assignment:
    """The target, without topics that are gone or no longer read while the next target has to wait."""
    target = group.target(member_id)
    if group.epoch <= group.target_epoch:
        return target
    names = group.topic_names(group.members[member_id])
    read = {topics.by_name[name].topic_id for name in names if name in topics.by_name}
    return {topic: numbers for topic, numbers in target.items() if topic in read}


def _find(
    draft: Draft, member_id: str, request: HeartbeatRequest, owned: Assignment | None
) -> Subscription | None:
    """What is known of the member; None for a new one. KafkaError where it must not go on as it is."""
    if request.member_epoch == JOINING:
        return _join(draft, member_id, request.instance_id)
    member = draft.group.find_member(member_id, request.instance_id)
    _check_epoch(draft.group, member_id, request.member_epoch, owned)
    return member


def _join(draft: Draft, member_id: str, instance_id: str | None) -> Subscription | None:
    group = draft.group
    holder = None if instance_id is None else group.static_ids.get(instance_id)
    if holder is not None and holder != member_id:
        uses_classic = group.members[holder].classic is not None
        if group.holding(holder).epoch != LEAVING_FOR_A_WHILE and not uses_classic:
            why = f"The instance id {instance_id} is owned by member {holder}."
            raise KafkaError(ErrorCode.UNRELEASED_INSTANCE_ID, why)
        replace_static(draft, holder, member_id)
    elif group.holding(member_id).epoch == LEAVING_FOR_A_WHILE:
        back = group.holding(member_id)._replace(epoch=0, previous_epoch=0)
        draft.put_holding(member_id, back)
    # Who is a member already and joins again has let go of everything: it is given its partitions once more.
    return draft.group.members.get(member_id)


def _check_epoch(group: ConsumerGroup, member_id: str, epoch: int, owned: Assignment | None) -> None:
    holding = group.holding(member_id)
    if epoch == holding.epoch:
        return
    # The answer with the newest epoch may have been lost; then the member has nothing that is not its own.
    if epoch == holding.previous_epoch and owned is not None and is_within(owned, holding.assigned):
        return
    size = "greater" if epoch > holding.epoch else "smaller"
    why = f"The member has a {size} member epoch ({epoch}) than the coordinator ({holding.epoch})."
    raise KafkaError(ErrorCode.FENCED_MEMBER_EPOCH, f"{why} It must abandon all its partitions and rejoin.")


def _updated(member: Subscription, request: HeartbeatRequest) -> Subscription:
    """A field that the request leaves out stays as it was."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    return Subscription(
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        topic_names=member.topic_names if names is None else tuple(sorted(set(names))),
        topic_regex=member.topic_regex if regex is None else regex or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        assignor=member.assignor if request.server_assignor is None else request.server_assignor,
    )


def _is_full(request: HeartbeatRequest) -> bool:
    """Says everything there is to say, as clients do after errors: such a request wants a full answer."""
    return (
        request.rebalance_timeout_ms != -1
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )
