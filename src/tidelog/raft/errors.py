"""Refusals that callers of Raft pass on to their clients."""

from tidelog.base.errors import TidelogError
from tidelog.base.ids import NodeId


class NotLeader(TidelogError):
    """Ask `leader_id` instead; None if no leader is known."""

    def __init__(self, leader_id: NodeId | None, reason: str = "this node does not lead the quorum") -> None:
        super().__init__(reason)
        self.leader_id = leader_id


class ChangeRefused(TidelogError):
    """The voters cannot be changed in this way now; the text says why."""
