"""One leader epoch, as its leader sees it: the followers' progress, and the in-sync set with its proposals.

Theory: the in-sync set lives in two places
===========================================

A record is acknowledged once every in-sync replica has it, and the next leader comes from the in-sync set.
Both sentences say "the in-sync set", and that is the danger. The controller keeps the set that it elects
from. The leader keeps the set that it counts. Messages between the two take time, get lost and arrive
twice. Whenever the controller's set has a member that the leader does not count, an acknowledged record can
vanish.

What can go wrong
-----------------
Say broker 1 leads alone, broker 2 has caught up to offset 10, and broker 1 wants it in the set:

    leader 1                                    controller                      set at the controller
    sends AlterPartition {1, 2}                                                 {1}
                                                writes {1, 2} to its log;       {1, 2}
                                                the answer is lost
    appends offset 10, still counts {1},
    and acknowledges it
    dies
                                                elects 2, a member of the set:
                                                offset 10 is gone

The rule
--------
1. From the moment a proposal leaves until its result is certain, both sets count. The high watermark is the
   smallest position among the members of the old set and of the proposed one.
2. Only three things make the result certain: metadata with a newer partition epoch; success in the answer,
   where the set grows and no replica outside of it counts as eligible (a smaller set waits for the
   metadata, which may bring a larger `min.insync.replicas` first: docs/adr/0012); or an error that the
   controller returns after it has compared the partition epoch, which proves that no copy of the proposal
   was carried out before. A timeout, a lost connection and a stale epoch prove nothing: the retry may have
   been refused because the first copy was accepted. The proposal then keeps counting until the metadata
   says what became of it.
3. A leader has one proposal under way at a time. It names the leader epoch and the partition epoch that it
   is based on, and the controller refuses any other.
4. A follower may be proposed only if it has all records below the high watermark, and all records that the
   leader had in its log when its epoch began.
5. Progress belongs to one process. A proposal names the registration (broker epoch) under which each
   follower fetched, and a follower that leaves the set has to show again what it has: it may return with an
   empty disk.

Why this is enough
------------------
The invariant: each broker in a set that the controller may hold has every record below the high watermark.

- The controller, by itself, only removes members within a leader epoch; a smaller set keeps the invariant.
- A new member comes from a proposal of this leader, with the current epochs (3). So the controller's set is
  the old one, the proposed one, or a part of either: all of them count (1).
- When a proposal leaves, its members have everything below the high watermark (4); from then on the high
  watermark only moves past records that they have (1). In the example, the leader would wait for broker 2.
- Why (4) asks for the log at the beginning of the epoch, too: a new leader learns the high watermark late.
  Its predecessor may have acknowledged up to 100 while the new leader, which has all of it, only knows of
  90. A follower at 95 has passed 90, and must not join. It must reach the end that the new leader began
  with, which is at or above everything that was ever acknowledged, because the new leader was in the set
  itself.
- The price is latency, never a record. A follower that stopped fetching holds up the high watermark until
  the metadata drops it, `replica.lag.time.max.ms` later or up to half of that more.

One window is left. After a refusal (2) the leader stops counting the proposal. A copy of the same request
that the network held back could be accepted afterwards, if the refused replica becomes eligible again with
the same registration and nothing else has changed the partition. The leader then counts the replica only
once it reads the metadata. It takes a request that arrives after its own retry was answered.

One thing is for progress, not for safety. On a busy leader a follower is always behind by what arrived
since its last fetch, so it could trail the high watermark for ever and never join. A follower that had, at
this fetch, all that the leader had at the fetch before is *awaited*: the high watermark stands still for it
until it joins, falls behind, or turns out not to be eligible.

`tests/property/test_replication.py` breaks these rules one at a time (counts the old set alone, takes every
error for a refusal, lets a laggard join, believes a smaller set in an answer) and demands that its model of
three replicas notices each. `tests/sim/test_seeded_bugs.py` breaks 3, 4 and 5 in whole simulated clusters.
"""

from collections.abc import Collection
from typing import NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import NO_EPOCH, Epoch, NodeId, Offset
from tidelog.replication.follower_progress import NEVER, FollowerProgress, Position

NOT_COMMITTED = frozenset({ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED})
"""After these answers a proposal is surely void. After others it may have been committed by an attempt whose
answer was lost, so it counts until the metadata tell."""


class IsrProposal(NamedTuple):
    isr: tuple[NodeId, ...]
    broker_epochs: tuple[Epoch, ...]
    """Of the same brokers: the registration under which each of them fetched; -1 for the leader."""
    leader_epoch: Epoch
    partition_epoch: Epoch


class CommittedIsr(NamedTuple):
    leader_epoch: Epoch
    isr: tuple[NodeId, ...]
    partition_epoch: Epoch


class Leadership:
    __slots__ = ("_followers", "_isr", "_node_id", "epoch_start", "proposal")

    def __init__(
        self,
        node_id: NodeId,
        epoch_start: Offset,
        replicas: tuple[NodeId, ...],
        isr: tuple[NodeId, ...],
        now: float,
    ) -> None:
        self._node_id = node_id
        self.epoch_start = epoch_start
        """Where this leader's log ended when it began to lead."""
        self._isr = isr
        self.proposal: IsrProposal | None = None
        self._followers: dict[NodeId, FollowerProgress] = {}
        self.assign(replicas, now)

    def follower(self, node: NodeId) -> FollowerProgress | None:
        return self._followers.get(node)

    @property
    def counted(self) -> tuple[Position, ...]:
        """The followers without whom the high watermark does not move."""
        members = (*self._isr, *self.proposal.isr) if self.proposal else self._isr
        return tuple(
            progress for node, progress in self._followers.items() if node in members or progress.is_awaited
        )

    def fetched(self, node: NodeId, offset: Offset, leader_end: Offset, now: float) -> bool:
        """Whether from now on others count than before."""
        progress = self._followers[node]
        was_awaited = progress.is_awaited
        if progress.fetched(offset, leader_end, now) and node not in self._isr:
            progress.is_awaited = True
        return progress.is_awaited != was_awaited

    def may_join(self, node: NodeId, high_watermark: Offset) -> bool:
        """It has all that was ever acknowledged, and all that this leader found when it began."""
        end = self._followers[node].end
        return node not in self._isr and end >= high_watermark and end >= self.epoch_start

    def await_only(self, nodes: Collection[NodeId]) -> None:
        """Stop waiting for all other followers: they fell back, or may not join."""
        for node, progress in self._followers.items():
            progress.is_awaited = progress.is_awaited and node in nodes

    def in_time(self, leader_end: Offset, now: float, lag_max: float) -> list[NodeId]:
        """The followers that are caught up, or were a moment ago."""
        return [
            node
            for node, progress in self._followers.items()
            if progress.is_in_time(leader_end, now, lag_max)
        ]

    def broker_epochs(self, nodes: tuple[NodeId, ...]) -> tuple[Epoch, ...]:
        return tuple(
            NO_EPOCH if node == self._node_id else self._followers[node].broker_epoch for node in nodes
        )

    def assign(self, replicas: tuple[NodeId, ...], now: float) -> None:
        known = self._followers
        self._followers = {
            node: known.get(node) or FollowerProgress(now if node in self._isr else NEVER)
            for node in replicas
            if node != self._node_id
        }

    def commit(self, isr: tuple[NodeId, ...]) -> None:
        """The controller decided on this set, which resolves any proposal made before."""
        for node in self._isr:
            if node not in isr and node in self._followers:
                self._followers[node].forget()
        self.drop_proposal()
        self._isr = isr

    def drop_proposal(self) -> None:
        if self.proposal is not None:
            for node in self.proposal.isr:
                if node in self._followers:
                    self._followers[node].is_awaited = False
            self.proposal = None
