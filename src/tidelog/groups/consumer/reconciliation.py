"""One step of a member towards its target: let go first, then take what is free.

A partition is given to a member only when no other member holds it. The member's epoch moves to the target's
once it has let go of all that it should not have.

STABLE -> UNREVOKED_PARTITIONS      the target takes partitions away, or the member reads a topic no more
STABLE -> UNRELEASED_PARTITIONS     the target gives partitions that others still hold
STABLE -> STABLE                    the target is reached in one step
UNREVOKED_PARTITIONS -> any         the member no longer reports the partitions as its own
UNRELEASED_PARTITIONS -> any        partitions came free, or a newer target is there
"""

from collections.abc import Container
from typing import Generic, NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.groups.record_formats.assignment import Parts, PartT
from tidelog.groups.record_formats.holding import Holding, MemberState


class Target(NamedTuple, Generic[PartT]):
    epoch: int
    assignment: Parts[PartT]
    held: Container[tuple[PartT, int]]
    """The partitions that other members have, and that stand in the way of this member."""


def reconcile(holding: Holding[PartT], target: Target[PartT], owned: Parts[PartT] | None) -> Holding[PartT]:
    """Where the member stands after a heartbeat. `owned` is what it says it has, if it says so."""
    match holding.state:
        case MemberState.STABLE:
            if holding.epoch == target.epoch and is_within(holding.assigned, target.assignment):
                return holding
            return _next(holding, holding.epoch, target, owned)
        case MemberState.UNREVOKED_PARTITIONS:
            if _still_owns(owned, holding.revoking):
                return holding
            return _next(holding, min(holding.epoch + 1, target.epoch), target, owned)
        case MemberState.UNRELEASED_PARTITIONS:
            return _next(holding, holding.epoch, target, owned)
        case MemberState.UNKNOWN:
            if owned is None or owned:
                # Stored by a newer version: start over from nothing, where all versions agree.
                raise KafkaError(ErrorCode.FENCED_MEMBER_EPOCH, "The member is in a state that is not known.")
            return _next(holding, target.epoch, target, owned)


def is_within(owned: Parts[PartT], assigned: Parts[PartT]) -> bool:
    return all(partitions <= assigned.get(topic, frozenset()) for topic, partitions in owned.items())


def _next(
    holding: Holding[PartT], epoch: int, target: Target[PartT], owned: Parts[PartT] | None
) -> Holding[PartT]:
    assigned: Parts[PartT] = {}
    revoking: Parts[PartT] = {}
    waits = False
    for topic in target.assignment.keys() | holding.assigned.keys():
        wanted = target.assignment.get(topic, frozenset())
        has = holding.assigned.get(topic, frozenset())
        if kept := has & wanted:
            assigned[topic] = kept
        if surplus := has - wanted:
            revoking[topic] = surplus
    if revoking and _still_owns(owned, revoking):
        return _moved(holding, epoch, MemberState.UNREVOKED_PARTITIONS, assigned, revoking)
    for topic, wanted in target.assignment.items():
        missing = wanted - assigned.get(topic, frozenset())
        free = frozenset(partition for partition in missing if (topic, partition) not in target.held)
        waits = waits or len(free) < len(missing)
        if free:
            assigned[topic] = assigned.get(topic, frozenset()) | free
    state = MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE
    return _moved(holding, target.epoch, state, assigned, {})


def _moved(
    holding: Holding[PartT], epoch: int, state: MemberState, assigned: Parts[PartT], revoking: Parts[PartT]
) -> Holding[PartT]:
    # The epoch before is kept: an answer that was lost makes the member come with it once more.
    previous = holding.previous_epoch if epoch == holding.epoch else holding.epoch
    return Holding(epoch, previous, state, assigned, revoking)


def _still_owns(owned: Parts[PartT] | None, revoking: Parts[PartT]) -> bool:
    """A member that does not say what it owns has to be believed to own it all."""
    if owned is None:
        return True
    return any(partitions & revoking.get(topic, frozenset()) for topic, partitions in owned.items())
