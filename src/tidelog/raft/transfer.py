"""Leadership transfer: the leader stops taking proposals, waits until a voter has everything, and tells it to
be elected at once (see `sending.py`). If that does not happen within an election timeout, the leader goes on.
"""

from tidelog.base.ids import NodeId
from tidelog.raft import sending
from tidelog.raft.errors import ChangeRefused
from tidelog.raft.leadership import Leadership, Transfer
from tidelog.raft.messages import TimeoutNow
from tidelog.raft.progress import Progress
from tidelog.raft.state import RaftNode


def start(node: RaftNode, lead: Leadership, to: NodeId | None, now: float) -> None:
    if to == node.id:
        lead.transfer = None
        return
    peer = best_successor(node, lead, now)
    if to is not None:
        peer = _successor(node, lead, to, now)
    if peer is None:
        raise ChangeRefused("no other voter answers this leader, so leadership stays here")
    lead.transfer = Transfer(peer.id, now + node.settings.election_timeout)


def tick(lead: Leadership, now: float) -> None:
    if lead.transfer is not None and now >= lead.transfer.deadline:
        lead.transfer = None


def resign(node: RaftNode, lead: Leadership, now: float) -> None:
    """Step down now; if another voter has the whole log, let it campaign at once."""
    sending.replicate(node, lead)
    peer = best_successor(node, lead, now)
    if peer is not None and peer.match == node.log.last_index:
        node.send(peer.id, TimeoutNow(node.id, node.storage, node.term))
    node.follow(None, now)


def best_successor(node: RaftNode, lead: Leadership, now: float) -> Progress | None:
    """The voter with the longest log and, among equals, the latest response."""
    timeout = node.settings.election_timeout
    peers = [lead.progress_of(voter) for voter in node.counted if voter.id != node.id]
    live = [peer for peer in peers if peer is not None and peer.is_live(now, timeout)]
    return max(live, key=lambda peer: (peer.match, peer.heard_at or 0.0, -peer.id), default=None)


def _successor(node: RaftNode, lead: Leadership, to: NodeId, now: float) -> Progress:
    voter = node.configuration.find(to)
    if voter is None or voter.vacant:
        raise ChangeRefused(f"node {to} is not a voter, so it cannot lead")
    peer = lead.progress_of(voter)
    if peer is None or not peer.is_live(now, node.settings.election_timeout):
        raise ChangeRefused(f"voter {to} does not answer this leader, so it cannot take over")
    return peer
