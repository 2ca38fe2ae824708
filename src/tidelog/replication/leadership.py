"""One leader epoch as its leader lives it: the followers' progress, the in-sync set, and what becomes of it.

The controller alone changes the in-sync set. From the moment a change is proposed until its fate is known,
both the old set and the new one count: whoever may be elected leader must have all that was acknowledged.
"""

from collections.abc import Collection
from typing import NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import NO_EPOCH, Epoch, NodeId, Offset
from tidelog.replication.followers import NEVER, FollowerProgress, Position

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
        """Of those who seemed about to join, the others have fallen back or may not."""
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
        """This is what the controller has decided; whatever was proposed before is settled by it."""
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
