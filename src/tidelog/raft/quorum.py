"""Majorities: any two of them share a member, and all of Raft rests on that."""

from collections.abc import Collection
from enum import Enum
from typing import TypeVar

from tidelog.raft.entries import Configuration

Number = TypeVar("Number", int, float)


def majority(members: int) -> int:
    return members // 2 + 1


def reached_by_majority(values: Collection[Number]) -> Number:
    """The largest value that a majority is at or above."""
    return sorted(values, reverse=True)[majority(len(values)) - 1]


def votes_needed(configuration: Configuration) -> int:
    """A majority; but all voters, as long as a voter's disk is not pinned.

    An unpinned voter may have lost its disk, and with it entries that it acknowledged, without a trace.
    Its vote is then worthless, unless the votes of the others are enough. So a new cluster is born with all
    of its voters present, and its first leader pins them: from then on, a majority is enough.
    """
    seats = len(configuration.counted)
    return majority(seats) if configuration.is_pinned else seats


class VoteResult(Enum):
    PENDING = "open"
    WON = "won"
    LOST = "lost"


def vote_result(*, granted: int, refused: int, seats: int, needed: int) -> VoteResult:
    if granted >= needed:
        return VoteResult.WON
    return VoteResult.LOST if seats - refused < needed else VoteResult.PENDING
