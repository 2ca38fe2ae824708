"""What a node knows of its quorum, for people: see DescribeQuorum."""

from dataclasses import dataclass

from tidelog.base.ids import NodeId, Uuid
from tidelog.raft.entries import Index, Term


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """One voter or observer as the leader sees it; times are monotonic, None where it was never heard of."""

    id: NodeId
    storage: Uuid | None
    last_index: Index
    last_contact: float | None
    last_caught_up: float | None
    is_vacant: bool = False


@dataclass(frozen=True, slots=True)
class QuorumStatus:
    """Only a leader knows the progress of others; elsewhere `last_index` of others is NO_INDEX."""

    leader_id: NodeId | None
    term: Term
    commit_index: Index
    voters: tuple[ReplicaStatus, ...]
    observers: tuple[ReplicaStatus, ...]
