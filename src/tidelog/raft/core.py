"""Raft, as its shell sees it."""

from enum import Enum

from tidelog.base.ids import NodeId, Uuid
from tidelog.base.ports import Random
from tidelog.raft.entries import Configuration, Index, Term, Voter
from tidelog.raft.messages import AnyMessage
from tidelog.raft.ready import ReadTicket, Ready, Restored, SnapshotSource
from tidelog.raft.settings import RaftSettings
from tidelog.raft.status import QuorumStatus


class Role(Enum):
    OBSERVER = "observer"
    FOLLOWER = "follower"
    PRE_CANDIDATE = "pre-candidate"
    CANDIDATE = "candidate"
    LEADER = "leader"


class Raft:
    role: Role
    term: Term
    leader_id: NodeId | None
    last_index: Index
    commit_index: Index
    configuration: Configuration
    is_leader: bool
    is_ready_leader: bool
    is_voter: bool
    next_deadline: float

    def __init__(
        self,
        *,
        node_id: NodeId,
        storage_id: Uuid,
        address: str,
        restored: Restored,
        settings: RaftSettings,
        random: Random,
        now: float,
        snapshot_source: SnapshotSource,
        seeds: tuple[Voter, ...] = (),
    ) -> None: ...

    def step(self, message: AnyMessage, now: float) -> None: ...

    def tick(self, now: float) -> None: ...

    def propose(self, data: bytes, now: float) -> Index: ...

    def change_voters(self, configuration: Configuration, now: float) -> Index: ...

    def transfer_leadership(self, to: NodeId | None, now: float) -> None: ...

    def resign(self, now: float) -> None: ...

    def read_index(self, now: float) -> ReadTicket: ...

    def compact(self, index: Index) -> None: ...

    def ready(self) -> Ready | None: ...

    def done(self, ready: Ready) -> None: ...

    def status(self) -> QuorumStatus: ...

    def address_of(self, node_id: NodeId) -> str | None: ...
