"""How classic groups and their members come to be, from nothing or from the log, and how they end."""

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import TimestampMs
from tidelog.base.timers import Timer
from tidelog.groups.classic.expiry import on_session_timeout
from tidelog.groups.classic.group import ClassicGroup
from tidelog.groups.classic.member import Member
from tidelog.groups.classic.messages import JoinAnswer, JoinRequest, SyncAnswer
from tidelog.groups.classic.rebalance import on_join_timeout, on_sync_timeout, prepare
from tidelog.groups.classic.states import State
from tidelog.groups.record_formats.group_metadata import StoredGroup, StoredMember
from tidelog.groups.step import Context, Step


def new_group(context: Context, group_id: str, now_ms: TimestampMs) -> ClassicGroup:
    group = ClassicGroup(group_id, now_ms)
    group.join_timer = context.timers.timer(lambda step: on_join_timeout(step, group))
    group.sync_timer = context.timers.timer(lambda step: on_sync_timeout(step, group))
    return group


def new_member(context: Context, group: ClassicGroup, member_id: str, request: JoinRequest) -> Member:
    return Member(
        member_id,
        instance_id=request.group_instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocols=tuple(request.protocols),
        session=lambda member: _session(context, group, member),
    )


def load_group(context: Context, group_id: str, stored: StoredGroup) -> ClassicGroup:
    """A group as the log knows it; its members have until their session timeout to show up."""
    group = new_group(context, group_id, stored.state_timestamp)
    for member in stored.members:
        group.add(_loaded_member(context, group, stored.protocol, member), stored.protocol_type)
    group.protocol_type = stored.protocol_type or None
    group.protocol = stored.protocol
    group.generation = stored.generation
    group.leader = stored.leader if stored.leader in group.members else next(iter(group.members), None)
    group.state = State.STABLE if group.members else State.EMPTY
    group.refresh_subscribed()
    return group


def start_sessions(step: Step, group: ClassicGroup) -> None:
    """After loading: nothing is known about when members were last heard."""
    for member in group.members.values():
        member.restart_session(step)
    limit = step.context.settings.members_max
    if len(group.members) > limit:
        prepare(step, group, f"{len(group.members)} members were loaded where {limit} are allowed now")


def end_group(group: ClassicGroup, error: ErrorCode) -> None:
    """Deleted, or moved to another broker: answer all who wait and stop every timer."""
    for member in group.members.values():
        group.answer_join(member, JoinAnswer(error, member.id))
        group.answer_sync(member, SyncAnswer(error))
        member.session.cancel()
    for timer in (*group.pending.values(), group.join_timer, group.sync_timer):
        timer.cancel()
    group.pending.clear()
    group.move_to(State.DEAD, group.state_timestamp)


def _loaded_member(
    context: Context, group: ClassicGroup, protocol: str | None, stored: StoredMember
) -> Member:
    return Member(
        stored.member_id,
        instance_id=stored.instance_id,
        client_id=stored.client_id,
        client_host=stored.client_host,
        rebalance_timeout_ms=stored.rebalance_timeout_ms,
        session_timeout_ms=stored.session_timeout_ms,
        protocols=((protocol or "", stored.subscription),),
        session=lambda member: _session(context, group, member),
        assignment=stored.assignment,
    )


def _session(context: Context, group: ClassicGroup, member: Member) -> Timer[Step]:
    return context.timers.timer(lambda step: on_session_timeout(step, group, member))
