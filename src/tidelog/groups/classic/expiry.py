"""Members that fell silent, and member ids that were given out and never used."""

from tidelog.groups.classic.group import ClassicGroup
from tidelog.groups.classic.member import Member
from tidelog.groups.classic.rebalance import complete, rebalance, remove_member
from tidelog.groups.classic.states import State
from tidelog.groups.step import Step


def on_session_timeout(step: Step, group: ClassicGroup, member: Member) -> None:
    if member.is_waiting:
        return  # the session starts again with the answer it waits for
    remove_member(group, member)
    member_left(step, group, f"member {member.id} was silent for {member.session_timeout_ms} ms")


def on_pending_timeout(step: Step, group: ClassicGroup, member_id: str) -> None:
    drop_pending(group, member_id)
    if group.state is State.PREPARING_REBALANCE and group.all_joined:
        complete(step, group)
    step.forget(group.id)


def drop_pending(group: ClassicGroup, member_id: str) -> None:
    group.pending.pop(member_id).cancel()


def member_left(step: Step, group: ClassicGroup, reason: str) -> None:
    if group.state in (State.STABLE, State.COMPLETING_REBALANCE):
        rebalance(step, group, reason)
    elif group.state is State.PREPARING_REBALANCE and group.all_joined:
        complete(step, group)
