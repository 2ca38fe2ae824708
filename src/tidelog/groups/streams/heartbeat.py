"""StreamsGroupHeartbeat: a member joins with its topology, stays, says which tasks it has, and learns more.

Every heartbeat does the same as far as it is needed: store what is new about the member and the topology,
look at the topics, give the group a target for its newest epoch, and take the member a step towards its own.
"""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.coordination.decision import ShardDecision
from tidelog.groups.consumer.member_timers import Wait
from tidelog.groups.consumer.messages import JOINING
from tidelog.groups.consumer.reconciliation import Target, is_within, reconcile
from tidelog.groups.consumer.topics import Topics
from tidelog.groups.record_formats.holding import Holding, MemberState
from tidelog.groups.record_formats.streams_group import StreamsMember, Topology
from tidelog.groups.record_formats.tasks import Duty, Role, Tasks
from tidelog.groups.streams.checks import check_tasks
from tidelog.groups.streams.draft import Draft
from tidelog.groups.streams.endpoints import endpoints
from tidelog.groups.streams.group import NO_MEMBER, InTheWay, StreamsGroup
from tidelog.groups.streams.messages import HeartbeatAnswer, HeartbeatRequest, Status, StatusCode
from tidelog.groups.streams.room import StreamsRoom
from tidelog.groups.streams.target import assign_if_due, begin_epoch_if_needed, delay_first


def heartbeat(
    draft: Draft, room: StreamsRoom, topics: Topics, request: HeartbeatRequest
) -> ShardDecision[HeartbeatAnswer]:
    """`request` went through `checks`, and does not leave. KafkaError where it is refused."""
    step, member_id = draft.step, request.member_id
    joins = request.member_epoch == JOINING
    before = _find(draft, request)
    topology = _topology(draft, request)
    after = _updated(before or NO_MEMBER, request)
    statuses = _stale(topology, after)
    configured = room.passing(draft.group.id).configured(topology, topics)
    check_tasks(configured, request.tasks)
    delay_first(step, room, draft.group)
    if after != before:
        draft.put_member(member_id, after)
    begin_epoch_if_needed(draft, configured, changed=after != before)
    delayed = assign_if_due(draft, room, configured)
    held = draft.group.holding(member_id)
    holding = _move_on(draft, room, member_id, request.tasks)
    room.start_session(step, request.group_id, member_id)
    passing = room.passing(request.group_id)
    if request.shutdown_application and passing.shutdown_by is None:
        passing.shutdown_by = member_id
    is_new = joins or holding.assigned != held.assigned
    if is_new and after.endpoint is not None:
        passing.endpoint_epoch += 1
    # An answer may have been lost: a member that reports other tasks than it has gets its tasks again.
    has_others = request.tasks is not None and request.tasks != holding.assigned
    statuses += [status for status in (delayed, configured.problem, _shutdown(passing.shutdown_by)) if status]
    knows_endpoints = request.endpoint_information_epoch == passing.endpoint_epoch
    answer = HeartbeatAnswer(
        member_id=member_id,
        member_epoch=holding.epoch,
        heartbeat_interval_ms=step.context.settings.of_group(request.group_id).int(
            "streams.heartbeat.interval.ms"
        ),
        statuses=statuses,
        tasks=holding.assigned if is_new or has_others else None,
        endpoint_information_epoch=passing.endpoint_epoch,
        endpoints=None if knows_endpoints else endpoints(draft.group, configured, topics),
        missing_topics=configured.missing,
    )
    return step.answer(answer, HeartbeatAnswer)


def _find(draft: Draft, request: HeartbeatRequest) -> StreamsMember | None:
    """What is known of the member; None for a new one. KafkaError where it must not go on as it is."""
    group, member_id = draft.group, request.member_id
    if request.member_epoch != JOINING:
        member = group.find_member(member_id)
        _check_epoch(group, member_id, request)
        return member
    limit = draft.step.context.settings.streams_members_max
    if len(group.members) >= limit and member_id not in group.members:
        full = f"The streams group has reached its maximum capacity of {limit} members."
        raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, full)
    return group.members.get(member_id)


def _check_epoch(group: StreamsGroup, member_id: str, request: HeartbeatRequest) -> None:
    holding, epoch = group.holding(member_id), request.member_epoch
    if epoch == holding.epoch:
        return
    # The answer with the newest epoch may have been lost; then the member has nothing that is not its own.
    is_previous = epoch == holding.previous_epoch
    if is_previous and request.tasks is not None and is_within(request.tasks, holding.assigned):
        return
    size = "greater" if epoch > holding.epoch else "smaller"
    why = f"The streams group member has a {size} member epoch ({epoch}) than the one known by the group"
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"{why} coordinator ({holding.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _topology(draft: Draft, request: HeartbeatRequest) -> Topology:
    """That of the group, which the first member brings along."""
    known, brought = draft.group.topology, request.topology
    if known is None:
        if brought is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, "The group has lost its topology: rejoin with it.")
        draft.put_topology(brought)
        return brought
    if brought is not None and brought.epoch >= known.epoch and not _is_same(brought, known):
        why = f"Topology updates are not supported yet: group {request.group_id} has another one."
        raise KafkaError(ErrorCode.INVALID_REQUEST, why)
    return known


def _is_same(one: Topology, other: Topology) -> bool:
    return one.epoch == other.epoch and (
        {part.subtopology_id: part for part in one.subtopologies}
        == {part.subtopology_id: part for part in other.subtopologies}
    )


def _updated(member: StreamsMember, request: HeartbeatRequest) -> StreamsMember:
    """A field that the request leaves out stays as it was."""
    topology, timeout_ms = request.topology, request.rebalance_timeout_ms
    return StreamsMember(
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topology_epoch=member.topology_epoch if topology is None else topology.epoch,
        process_id=member.process_id if request.process_id is None else request.process_id,
        endpoint=member.endpoint if request.endpoint is None else request.endpoint,
        client_tags=member.client_tags if request.client_tags is None else request.client_tags,
    )


def _move_on(draft: Draft, room: StreamsRoom, member_id: str, owned: Tasks | None) -> Holding[Duty]:
    """Take a member one step towards its target, and note by when it has to take the next."""
    group = draft.group
    holding = group.holding(member_id)
    in_the_way = InTheWay(group, group.members[member_id].process_id)
    target = Target(group.target_epoch, group.target(member_id), in_the_way)
    moved = _dated(reconcile(holding, target, owned), holding)
    if moved == holding:
        return holding
    draft.put_holding(member_id, moved)
    if moved.state is MemberState.UNREVOKED_PARTITIONS:
        room.start_revocation(draft.step, group, member_id)
    else:
        room.shared.timers.stop(Wait.REVOCATION, group.id, member_id)
    return moved


def _dated(moved: Holding[Duty], before: Holding[Duty]) -> Holding[Duty]:
    """With the epoch since when each active task is the member's: a commit from before is a zombie's."""
    since = {
        (duty, number): before.since.get((duty, number), moved.epoch)
        for part in (moved.assigned, moved.revoking)
        for duty, numbers in part.items()
        if duty.role is Role.ACTIVE
        for number in numbers
    }
    return moved._replace(since=since)


def _stale(topology: Topology, member: StreamsMember) -> list[Status]:
    if member.topology_epoch >= topology.epoch:
        return []
    mine, theirs = member.topology_epoch, topology.epoch
    why = f"The member's topology epoch {mine} is behind the group's topology epoch {theirs}."
    return [Status(StatusCode.STALE_TOPOLOGY, why)]


def _shutdown(by: str | None) -> Status | None:
    if by is None:
        return None
    why = "encountered a fatal error and requested a shutdown for the entire application."
    return Status(StatusCode.SHUTDOWN_APPLICATION, f"Streams group member {by} {why}")
