"""How a classic group gets from one generation to the next.

Empty -> PreparingRebalance     the first member joins
Stable, CompletingRebalance -> PreparingRebalance
                                a member joins, leaves, fails or changes what it offers
PreparingRebalance -> CompletingRebalance (or Empty)
                                all known members are here, or the rebalance timeout passed
CompletingRebalance -> Stable   the leader's assignment is stored (`sync`)
"""

from tidelog.base.errors import ErrorCode
from tidelog.groups.classic.group import ClassicGroup
from tidelog.groups.classic.member import Member
from tidelog.groups.classic.messages import NO_MEMBER, JoinAnswer, SyncAnswer
from tidelog.groups.classic.states import State, can_rebalance
from tidelog.groups.step import Step


def rebalance(step: Step, group: ClassicGroup, reason: str) -> None:
    """Something changed: start a rebalance, or see whether the one under way can end now."""
    if can_rebalance(group.state):
        prepare(step, group, reason)
    else:
        complete_when_all_joined(step, group)


def prepare(step: Step, group: ClassicGroup, reason: str) -> None:
    if group.state is State.COMPLETING_REBALANCE:
        drop_assignments(step, group, ErrorCode.REBALANCE_IN_PROGRESS)
    group.pending_syncs.clear()
    group.sync_timer.cancel()
    group.move_to(State.PREPARING_REBALANCE, step.now_ms)
    step.note(f"group {group.id} prepares a rebalance after generation {group.generation}: {reason}")
    if group.is_initial_rebalance:
        _wait_for_first_members(step, group)
    elif group.all_joined:
        complete(step, group)
    else:
        group.join_timer.start(step.after_ms(group.rebalance_timeout_ms))


def complete_when_all_joined(step: Step, group: ClassicGroup) -> None:
    """The first rebalance of an empty group ends by time only: the number of members to come is unknown."""
    if group.state is State.PREPARING_REBALANCE and not group.is_initial_rebalance and group.all_joined:
        complete(step, group)


def on_join_timeout(step: Step, group: ClassicGroup) -> None:
    if group.is_initial_rebalance and group.member_added_in_initial_wait and group.initial_wait_left_ms:
        _wait_longer(step, group)
    elif group.state is State.PREPARING_REBALANCE:
        complete(step, group)


def complete(step: Step, group: ClassicGroup) -> None:
    """Form the next generation of those who joined, and answer all of them."""
    group.join_timer.cancel()
    # Static members are expected back, so they stay until their session ends.
    missing = [member for member in group.members.values() if member.join is None and not member.instance_id]
    for member in missing:
        remove_member(group, member)
    if missing:
        step.note(f"group {group.id} goes on without {', '.join(member.id for member in missing)}")
    if not group.elect_joined_leader() and group.members:
        # Only absent static members are left: session timeouts will decide about them.
        group.join_timer.start(step.after_ms(group.rebalance_timeout_ms))
        return
    group.next_generation(step.now_ms)
    step.context.counters.rebalances += 1
    step.note(f"group {group.id} has {len(group.members)} members in generation {group.generation}")
    if group.is_empty:
        step.append(group.record({}))
        return
    for member in group.members.values():
        group.answer_join(member, group.join_answer(member))
        member.restart_session(step)
        member.is_new = False
        group.pending_syncs.add(member.id)
    group.sync_timer.start(step.after_ms(group.rebalance_timeout_ms))


def on_sync_timeout(step: Step, group: ClassicGroup) -> None:
    """Members that joined and never asked for their assignment are gone."""
    if not group.pending_syncs:
        return
    silent = [group.members[member_id] for member_id in sorted(group.pending_syncs)]
    for member in silent:
        remove_member(group, member)
    prepare(step, group, f"no sync came from {', '.join(member.id for member in silent)}")


def drop_assignments(step: Step, group: ClassicGroup, error: ErrorCode) -> None:
    for member in group.members.values():
        member.assignment = b""
        if group.answer_sync(member, SyncAnswer(error)):
            member.restart_session(step)


def remove_member(
    group: ClassicGroup, member: Member, error: ErrorCode = ErrorCode.UNKNOWN_MEMBER_ID
) -> None:
    """Whatever the member waits for is answered, so that a client that lives on joins again."""
    group.answer_join(member, JoinAnswer(error, NO_MEMBER))
    group.answer_sync(member, SyncAnswer(error))
    group.remove(member)


def _wait_for_first_members(step: Step, group: ClassicGroup) -> None:
    delay_ms = step.context.settings.initial_rebalance_delay_ms
    if delay_ms == 0:
        complete(step, group)
        return
    group.initial_wait_left_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
    group.member_added_in_initial_wait = False
    group.join_timer.start(step.after_ms(delay_ms))


def _wait_longer(step: Step, group: ClassicGroup) -> None:
    delay_ms = min(step.context.settings.initial_rebalance_delay_ms, group.initial_wait_left_ms)
    group.member_added_in_initial_wait = False
    group.initial_wait_left_ms -= delay_ms
    group.join_timer.start(step.after_ms(delay_ms))
