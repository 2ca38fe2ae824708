"""The state of the quorum as this node sees it, for DescribeQuorum."""

from dataclasses import dataclass

from tidelog.base.ids import NodeId, Uuid
from tidelog.raft.entries import NO_INDEX, Index, Term, Voter
from tidelog.raft.state import RaftNode


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """One voter or observer as the leader sees it; times are monotonic, None if it never responded."""

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


def describe(node: RaftNode) -> QuorumStatus:
    voters = tuple(_replica(node, voter.id, voter) for voter in node.configuration.voters)
    seated = {voter.id for voter in node.configuration.voters}
    lead = node.leadership
    others = () if lead is None else tuple(peer_id for peer_id in lead.peers if peer_id not in seated)
    observers = tuple(_replica(node, peer_id, None) for peer_id in others)
    return QuorumStatus(node.leader_id, node.term, node.commit_index, voters, observers)


def _replica(node: RaftNode, node_id: NodeId, voter: Voter | None) -> ReplicaStatus:
    storage = None if voter is None else voter.storage
    is_vacant = voter is not None and voter.vacant
    if node_id == node.id:
        return ReplicaStatus(node_id, storage, node.log.last_index, None, None, is_vacant)
    peer = None if node.leadership is None else node.leadership.peers.get(node_id)
    if peer is None:
        return ReplicaStatus(node_id, storage, NO_INDEX, None, None, is_vacant)
    return ReplicaStatus(
        node_id, storage or peer.storage, peer.match, peer.heard_at, peer.caught_up_at, is_vacant
    )
