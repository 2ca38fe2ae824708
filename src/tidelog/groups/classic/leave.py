"""LeaveGroup: members go of their own will, or an admin sends static ones away by instance id."""

from collections.abc import Sequence

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.coordination.decision import ShardDecision
from tidelog.groups.classic.expiry import drop_pending
from tidelog.groups.classic.group import ClassicGroup
from tidelog.groups.classic.messages import NO_MEMBER, LeaveAnswer, LeavingMember, LeftMember
from tidelog.groups.classic.rebalance import complete_when_all_joined, rebalance, remove_member
from tidelog.groups.step import Step


def leave(step: Step, group: ClassicGroup, leaving: Sequence[LeavingMember]) -> ShardDecision[LeaveAnswer]:
    before = len(group.members)
    results = [LeftMember(one.member_id, one.group_instance_id, _leave_one(group, one)) for one in leaving]
    gone = [
        f"{one.member_id or one.group_instance_id} ({one.reason or 'no reason given'})"
        for one, result in zip(leaving, results, strict=True)
        if result.error is ErrorCode.NONE
    ]
    if len(group.members) < before:
        rebalance(step, group, f"left: {', '.join(gone)}")
    elif gone:
        complete_when_all_joined(step, group)  # an id without a member changes nothing else
    step.forget(group.id)
    answer = LeaveAnswer(members=results)
    return step.answer(answer, lambda _: answer)  # they are gone, whether or not the empty group was stored


def _leave_one(group: ClassicGroup, leaving: LeavingMember) -> ErrorCode:
    member_id = leaving.member_id
    if member_id == NO_MEMBER:
        member_id = group.static_ids.get(leaving.group_instance_id or "", NO_MEMBER)
    elif member_id in group.pending:
        drop_pending(group, member_id)
        return ErrorCode.NONE
    try:
        remove_member(group, group.find_member(member_id, leaving.group_instance_id))
    except KafkaError as refusal:
        return refusal.code
    return ErrorCode.NONE
