"""The states of a classic group, and which may follow which.

`NEXT` is the documentation: every change of state is checked against it.
"""

from enum import Enum


class State(Enum):
    """Spelled as DescribeGroups and ListGroups show them."""

    EMPTY = "Empty"
    """No members; lives on for its offsets, or for an id that was given out and may come back."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Members are joining; each waits until all known ones are here or the time is up."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """A generation is formed; members wait for the leader's assignment to be stored."""
    STABLE = "Stable"
    """Every member can have its assignment."""
    DEAD = "Dead"
    """Deleted, or this broker is not its coordinator any more."""


NEXT: dict[State, set[State]] = {
    State.EMPTY: {State.PREPARING_REBALANCE, State.DEAD},
    State.PREPARING_REBALANCE: {State.COMPLETING_REBALANCE, State.EMPTY, State.DEAD},
    State.COMPLETING_REBALANCE: {State.STABLE, State.PREPARING_REBALANCE, State.DEAD},
    State.STABLE: {State.PREPARING_REBALANCE, State.DEAD},
    State.DEAD: set(),
}


def can_rebalance(state: State) -> bool:
    return State.PREPARING_REBALANCE in NEXT[state]
