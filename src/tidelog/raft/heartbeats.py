"""Heartbeats while the disk is busy with a Ready: they contain only what is durable already.

A write can take seconds. Without heartbeats for that long a leader would be replaced, and its followers would
count as dead. So a leader keeps sending heartbeats, and a follower keeps responding, as of what is on their
disks already. This changes no state: incoming messages wait until the write is done.
"""

from tidelog.raft.entries import Index
from tidelog.raft.leadership import Leadership
from tidelog.raft.messages import Addressed, AnyMessage, AppendEntries, AppendEntriesResponse
from tidelog.raft.progress import Progress, ProgressState
from tidelog.raft.state import RaftNode


def requests(node: RaftNode, lead: Leadership) -> list[Addressed]:
    """Empty AppendEntries. The term is durable: it was written before the first request for a vote."""
    return [(peer.id, _heartbeat(node, lead, peer)) for peer in lead.peers.values()]


def _heartbeat(node: RaftNode, lead: Leadership, peer: Progress) -> AppendEntries:
    previous = _agreed_on(peer)
    term = node.log.term_at(previous)
    if term is None:
        # There is no snapshot for it yet. It will reject this, but learn that there is a leader.
        previous, term = node.log.last_index, node.log.last_term
    me = (node.id, node.storage, node.term, node.address)
    return AppendEntries(*me, previous, term, min(node.commit_index, previous), lead.round, ())


def _agreed_on(peer: Progress) -> Index:
    """Not the entries sent ahead: they may not be durable there yet."""
    return peer.next - 1 if peer.state is ProgressState.PROBE else peer.match


def response(node: RaftNode, message: AnyMessage) -> Addressed | None:
    """An immediate response to the leader. The actual response follows after the write."""
    if not isinstance(message, AppendEntries) or node.leadership is not None:
        return None
    if message.term != node.term or message.sender != node.leader_id:
        return None
    # The leader has all committed entries too, and these are durable here.
    index = min(node.commit_index, node.log.stable)
    answer = AppendEntriesResponse(
        node.id, node.storage, node.term, message.round, accepted=True, index=index
    )
    return message.sender, answer
