"""What a leader knows of one follower: how far it is, and when it was last as far as the leader.

A follower that fetches from `offset` has everything below, synced where durability asks for that. It counts
as caught up at a moment if it had then all that the leader had: either it asks for the leader's end now, or
for what was the leader's end when it asked before. A busy leader is always ahead by what arrived since.
"""

from math import inf

from tidelog.base.ids import NO_EPOCH, NO_OFFSET, Epoch, Offset

NEVER = -inf
_OUT_OF_REACH: Offset = 2**63


class Position:
    """Up to where a replica has the log; the high watermark is the least of those that count."""

    __slots__ = ("end",)

    def __init__(self, end: Offset) -> None:
        self.end = end


class FollowerProgress(Position):
    __slots__ = ("_fetched_at", "_leader_end_then", "broker_epoch", "caught_up_at", "is_awaited", "start")

    def __init__(self, caught_up_at: float) -> None:
        """`caught_up_at`: now for a follower that was in sync under the last leader, to give it time."""
        super().__init__(NO_OFFSET)
        self.start: Offset = NO_OFFSET
        self.broker_epoch: Epoch = NO_EPOCH
        self.caught_up_at = caught_up_at
        self.is_awaited = False
        """About to join the in-sync set: the high watermark waits for it, or it would never get there."""
        self._fetched_at = NEVER
        self._leader_end_then = _OUT_OF_REACH

    def fetched(self, offset: Offset, leader_end: Offset, now: float) -> bool:
        """Whether it is caught up, or was when it fetched before."""
        self.end = offset
        caught_up = True
        if offset >= leader_end:
            self.caught_up_at = max(self.caught_up_at, now)
        elif offset >= self._leader_end_then:
            self.caught_up_at = max(self.caught_up_at, self._fetched_at)
        else:
            caught_up = False
        self._leader_end_then = leader_end
        self._fetched_at = now
        return caught_up

    def is_in_time(self, leader_end: Offset, now: float, lag_max: float) -> bool:
        return self.end == leader_end or now - self.caught_up_at <= lag_max

    def forget(self) -> None:
        """It left the in-sync set: what it had before says nothing, it may come back with an empty disk."""
        self.end = NO_OFFSET
        self.caught_up_at = NEVER
        self.is_awaited = False
        self._fetched_at = NEVER
        self._leader_end_then = _OUT_OF_REACH
