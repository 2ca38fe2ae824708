"""SyncGroup: members ask for their assignment; the leader's request brings it for all.

No member gets an assignment before it is stored and committed, so a new coordinator never hands out a second
one under the same generation.
"""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.pending import Pending
from tidelog.coordination.decision import ShardDecision
from tidelog.groups.classic.group import ClassicGroup
from tidelog.groups.classic.messages import SyncAnswer, SyncRequest
from tidelog.groups.classic.rebalance import drop_assignments, rebalance
from tidelog.groups.classic.states import State
from tidelog.groups.step import Step


def sync(step: Step, group: ClassicGroup, request: SyncRequest) -> ShardDecision[SyncAnswer]:
    try:
        member = group.find_member(request.member_id, request.group_instance_id)
        _check(group, request)
    except KafkaError as refusal:
        return step.answer(SyncAnswer(refusal.code), SyncAnswer)
    group.pending_syncs.discard(member.id)
    if not group.pending_syncs:
        group.sync_timer.cancel()
    if group.state is State.STABLE:
        return step.answer(group.sync_answer(member), SyncAnswer)
    pending: Pending[SyncAnswer] = Pending()
    group.park_sync(member, pending)
    if group.leader == member.id:
        _store_assignment(step, group, {name: bytes(value) for name, value in request.assignments})
    return step.decision(pending)


def _check(group: ClassicGroup, request: SyncRequest) -> None:
    if request.generation_id != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    for given, known in (
        (request.protocol_type, group.protocol_type),
        (request.protocol_name, group.protocol),
    ):
        if given is not None and known is not None and given != known:
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.state is State.PREPARING_REBALANCE:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)


def _store_assignment(step: Step, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
    generation = group.generation

    def still_meant() -> bool:
        """Not if another rebalance began while the record was on its way."""
        return group.state is State.COMPLETING_REBALANCE and group.generation == generation

    def stored(step: Step) -> None:
        if not still_meant():
            return
        for member in group.members.values():
            member.assignment = assignments.get(member.id, b"")
            if group.answer_sync(member, group.sync_answer(member)):
                member.restart_session(step)
        group.move_to(State.STABLE, step.now_ms)

    def not_stored(step: Step, error: ErrorCode) -> None:
        if still_meant():
            drop_assignments(step, group, error)
            rebalance(step, group, f"the assignment could not be stored: {error.name}")

    step.append(group.record(assignments), committed=stored, failed=not_stored)
