"""Heartbeat: a member is alive, and learns whether it has to rejoin."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.groups.classic.group import ClassicGroup
from tidelog.groups.classic.states import State
from tidelog.groups.step import Step


def heartbeat(
    step: Step, group: ClassicGroup, member_id: str, instance_id: str | None, generation: int
) -> ErrorCode:
    try:
        member = group.find_member(member_id, instance_id)
    except KafkaError as refusal:
        return refusal.code
    if generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    member.restart_session(step)
    if group.state is State.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE
