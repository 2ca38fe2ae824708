"""JoinGroup: a member asks to be part of the next generation, and waits for the others.

New dynamic members are first told an id to come back with (KIP-394), so that a client that retries does not
leave a trail of ghosts. A static member that comes back under its instance id takes its old place (KIP-345),
in a stable group without a rebalance.
"""

import uuid

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.pending import Pending
from tidelog.groups.classic.expiry import drop_pending, on_pending_timeout
from tidelog.groups.classic.group import ClassicGroup
from tidelog.groups.classic.lifecycle import new_member
from tidelog.groups.classic.member import Member
from tidelog.groups.classic.messages import NO_MEMBER, JoinAnswer, JoinRequest, SyncAnswer
from tidelog.groups.classic.rebalance import complete_when_all_joined, prepare, rebalance, remove_member
from tidelog.groups.classic.states import State
from tidelog.groups.settings import (
    MEMBER_METADATA_BYTES_MAX,
    PENDING_MEMBERS_MAX,
    PROTOCOLS_MAX,
    GroupSettings,
)
from tidelog.groups.step import Step

ID_REQUIRED_FROM = 4
SKIP_ASSIGNMENT_FROM = 9
REASON_CHARS_MAX = 255
ID_PREFIX_CHARS_MAX = 1024
"""A client id may be as long as a string can be; with more behind it, it would not fit a record."""


def checked(request: JoinRequest, settings: GroupSettings) -> JoinRequest:
    """The request with its blanks filled in, or the KafkaError that it gets whatever the group is like."""
    if not request.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    if not settings.session_timeout_ms_min <= request.session_timeout_ms <= settings.session_timeout_ms_max:
        raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)
    protocols = {name: bytes(metadata) for name, metadata in reversed(request.protocols)}
    if len(protocols) > PROTOCOLS_MAX:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"More than {PROTOCOLS_MAX} protocols.")
    if sum(map(len, protocols.values())) > MEMBER_METADATA_BYTES_MAX:
        limit = f"The metadata of a member is over {MEMBER_METADATA_BYTES_MAX} bytes."
        raise KafkaError(ErrorCode.INVALID_REQUEST, limit)
    timeout = request.rebalance_timeout_ms
    return request._replace(
        protocols=tuple(reversed(protocols.items())),  # of two with one name the first counts
        rebalance_timeout_ms=request.session_timeout_ms if timeout < 0 else timeout,
    )


def join(step: Step, group: ClassicGroup, request: JoinRequest) -> Pending[JoinAnswer]:
    """`request` went through `checked`."""
    member_id = request.member_id
    if not _has_room(step, group, member_id):
        if (member := group.members.get(member_id)) is not None:
            remove_member(group, member)
        elif member_id in group.pending:
            drop_pending(group, member_id)
        complete_when_all_joined(step, group)
        return _refused(ErrorCode.GROUP_MAX_SIZE_REACHED, NO_MEMBER)
    if not group.supports(request.protocol_type, [name for name, _ in request.protocols]):
        return _refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id)
    if member_id != NO_MEMBER:
        return _join_known(step, group, request)
    if request.group_instance_id is None:
        return _join_new_dynamic(step, group, request)
    new_id = _new_id(step, request.group_instance_id)
    holder = group.static_ids.get(request.group_instance_id)
    if holder is None:
        return _add(step, group, new_id, request)
    return _replace_static(step, group, group.members[holder], new_id, request)


def _has_room(step: Step, group: ClassicGroup, member_id: str) -> bool:
    limit = step.context.settings.members_max
    member = group.members.get(member_id)
    if group.state is State.EMPTY:
        return True
    if group.state is State.PREPARING_REBALANCE:
        # Those who wait count, not those who are known: if the limit was lowered, the last to rejoin must go.
        return group.joins_waiting < limit or (member is not None and member.join is not None)
    return len(group.members) < limit or member is not None


def _join_new_dynamic(step: Step, group: ClassicGroup, request: JoinRequest) -> Pending[JoinAnswer]:
    new_id = _new_id(step, request.client_id)
    if request.api_version < ID_REQUIRED_FROM:
        return _add(step, group, new_id, request)
    if len(group.pending) >= PENDING_MEMBERS_MAX:
        return _refused(ErrorCode.GROUP_MAX_SIZE_REACHED, NO_MEMBER)
    timer = step.context.timers.timer(lambda step: on_pending_timeout(step, group, new_id))
    timer.start(step.after_ms(request.session_timeout_ms))
    group.pending[new_id] = timer
    return _refused(ErrorCode.MEMBER_ID_REQUIRED, new_id)


def _join_known(step: Step, group: ClassicGroup, request: JoinRequest) -> Pending[JoinAnswer]:
    member_id, reason = request.member_id, _reason(request)
    if member_id in group.pending and request.group_instance_id is None:
        drop_pending(group, member_id)
        return _add(step, group, member_id, request)
    try:
        member = group.find_member(member_id, request.group_instance_id)
    except KafkaError as refusal:
        return _refused(refusal.code, member_id)
    unchanged = member.protocols == request.protocols
    if group.state is State.PREPARING_REBALANCE:
        return _rejoin(step, group, member, request, f"member {member_id} rejoins; {reason}")
    if group.state is State.STABLE and group.leader == member_id:
        # The leader may know of changes that no metadata shows, such as a topic with more partitions.
        return _rejoin(step, group, member, request, f"leader {member_id} rejoins; {reason}")
    if not unchanged:
        return _rejoin(step, group, member, request, f"member {member_id} changed its metadata; {reason}")
    # Its first answer was lost, or it does not know that nothing changed: it can go on to sync.
    return Pending.ready(group.join_answer(member))


def _add(step: Step, group: ClassicGroup, member_id: str, request: JoinRequest) -> Pending[JoinAnswer]:
    pending: Pending[JoinAnswer] = Pending()
    member = new_member(step.context, group, member_id, request)
    member.is_new = True
    if group.is_initial_rebalance:
        group.member_added_in_initial_wait = True
    group.add(member, request.protocol_type)
    group.park_join(member, pending)
    member.session.start(step.after_ms(step.context.settings.new_member_join_timeout_ms))
    who = f"member {member_id}" + (f" (instance {member.instance_id})" if member.instance_id else "")
    rebalance(step, group, f"{who} joins; {_reason(request)}")
    return pending


def _rejoin(
    step: Step, group: ClassicGroup, member: Member, request: JoinRequest, reason: str
) -> Pending[JoinAnswer]:
    pending: Pending[JoinAnswer] = Pending()
    _update(group, member, request)
    group.park_join(member, pending)
    rebalance(step, group, reason)
    return pending


def _update(group: ClassicGroup, member: Member, request: JoinRequest) -> None:
    group.update_protocols(member, tuple(request.protocols))
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    member.session_timeout_ms = request.session_timeout_ms


def _replace_static(
    step: Step, group: ClassicGroup, old: Member, new_id: str, request: JoinRequest
) -> Pending[JoinAnswer]:
    pending: Pending[JoinAnswer] = Pending()
    leader_before = group.leader
    # Two processes with one instance id: the older one gets an error, wherever it waits.
    group.answer_join(old, JoinAnswer(ErrorCode.FENCED_INSTANCE_ID, old.id))
    group.answer_sync(old, SyncAnswer(ErrorCode.FENCED_INSTANCE_ID))
    old.session.cancel()
    member = new_member(step.context, group, new_id, request)
    member.assignment = old.assignment
    group.replace(old, member)
    group.park_join(member, pending)
    member.restart_session(step)
    who = f"static member {request.group_instance_id} came back as {new_id}; {_reason(request)}"
    if group.state is State.COMPLETING_REBALANCE:
        prepare(step, group, who)  # the leader may be assigning to the old id just now
    elif group.state is State.STABLE and group.select_protocol() == group.protocol:
        _store_replacement(step, group, member, leader_before=leader_before, api_version=request.api_version)
    elif group.state is State.STABLE:
        rebalance(step, group, who)
    else:
        complete_when_all_joined(step, group)
    return pending


def _store_replacement(
    step: Step, group: ClassicGroup, member: Member, *, leader_before: str | None, api_version: int
) -> None:
    """The group stays as it is, but for an id: store that, and answer without a rebalance."""
    pending = member.join

    def still_waits() -> bool:
        return member.join is not None and member.join is pending and group.state is State.STABLE

    def stored(step: Step) -> None:
        if not still_waits():
            return  # a rebalance began meanwhile, and its end answers
        if api_version >= SKIP_ASSIGNMENT_FROM:
            answer = group.join_answer(member, skip_assignment=group.leader == member.id)
        else:
            # An older client must not assign again in a stable group: the answer names another leader.
            answer = group.join_answer(member)._replace(leader=leader_before or NO_MEMBER, members=())
        group.answer_join(member, answer)
        member.restart_session(step)

    def not_stored(step: Step, error: ErrorCode) -> None:
        if still_waits():
            group.answer_join(member, JoinAnswer(error, NO_MEMBER))
            member.restart_session(step)

    assignments = {other.id: other.assignment for other in group.members.values()}
    step.append(group.record(assignments), committed=stored, failed=not_stored)


def _new_id(step: Step, prefix: str) -> str:
    prefix = prefix[:ID_PREFIX_CHARS_MAX]
    return f"{prefix}-{uuid.UUID(bytes=step.context.random.bytes(16), version=4)}"


def _reason(request: JoinRequest) -> str:
    return f"client reason: {(request.reason or 'not provided')[:REASON_CHARS_MAX]}"


def _refused(error: ErrorCode, member_id: str) -> Pending[JoinAnswer]:
    return Pending.ready(JoinAnswer(error, member_id))
