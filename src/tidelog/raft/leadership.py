"""The volatile state of a leader, dropped when it steps down."""

from dataclasses import dataclass, field

from tidelog.base.ids import NodeId
from tidelog.raft.entries import Index, Voter
from tidelog.raft.progress import Progress
from tidelog.raft.ready import ReadTicket


@dataclass(slots=True)
class PendingRead:
    ticket: ReadTicket
    round: int
    index: Index | None
    """None until the leader has committed in its term: before, it does not know what is committed."""


@dataclass(slots=True)
class Transfer:
    target: NodeId
    deadline: float
    is_sent: bool = False


@dataclass(slots=True)
class Leadership:
    since: float
    first_index: Index
    """The index of the leader's own no-op; committing it makes the leader ready."""
    heartbeat_deadline: float
    quorum_deadline: float
    peers: dict[NodeId, Progress] = field(default_factory=dict)
    round: int = 0
    round_is_unsent: bool = False
    """No message of the present round has left, so a read that comes now may share it."""
    heartbeat_is_due: bool = True
    reads: list[PendingRead] = field(default_factory=list)
    transfer: Transfer | None = None

    def progress_of(self, voter: Voter) -> Progress | None:
        """The voter's progress, if its responses come from the disk that holds its seat."""
        peer = self.peers.get(voter.id)
        if peer is None or peer.storage is None or not voter.is_held_by(peer.storage):
            return None
        return peer
