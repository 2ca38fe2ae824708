"""Where a member of a group with epochs stands: what its record says, whatever the group hands out."""

from enum import IntEnum
from typing import Any, Generic, NamedTuple

from tidelog.groups.record_formats.assignment import Parts, PartT

_NONE: Parts[Any] = {}
_NO_EPOCHS: dict[Any, int] = {}


class MemberState(IntEnum):
    STABLE = 0
    """Has what its epoch says it should have."""
    UNREVOKED_PARTITIONS = 1
    """Was told to let go of partitions and has not yet said that it did."""
    UNRELEASED_PARTITIONS = 2
    """Is at the newest epoch, and waits for partitions that others still hold."""
    UNKNOWN = 127
    """Stored by a version that knows more states."""


def member_state(stored: int) -> MemberState:
    return MemberState(stored) if stored in (0, 1, 2) else MemberState.UNKNOWN


class Holding(NamedTuple, Generic[PartT]):
    """Where a member stands: its epoch, what it may use, what it has yet to let go."""

    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Parts[PartT] = _NONE
    revoking: Parts[PartT] = _NONE
    since: dict[tuple[PartT, int], int] = _NO_EPOCHS
    """The epoch at which each was assigned, of those for which that is kept."""
