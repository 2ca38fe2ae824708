"""What a node may say while its disk is busy with a Ready: only what that write does not have to keep.

A disk can take seconds. A leader that fell silent for that long would be replaced, and its followers would be
taken for dead, though all of them are there. So a leader says that it leads, and a follower that it follows,
as of what is on their disks already. Nothing changes by this: what comes in waits until the write is done.
"""

from tidelog.raft.entries import Index
from tidelog.raft.leadership import Leadership
from tidelog.raft.messages import Addressed, AnyMessage, AppendEntries, AppendEntriesResponse
from tidelog.raft.progress import Progress, ProgressState
from tidelog.raft.state import RaftNode


def requests(node: RaftNode, lead: Leadership) -> list[Addressed]:
    """Empty appends. The term is on the disk: it was there before anybody was asked for a vote."""
    return [(peer.id, _heartbeat(node, lead, peer)) for peer in lead.peers.values()]


def _heartbeat(node: RaftNode, lead: Leadership, peer: Progress) -> AppendEntries:
    previous = _agreed_on(peer)
    term = node.log.term_at(previous)
    if term is None:
        # As where no snapshot is to be had for it: it will refuse this, but know that there is a leader.
        previous, term = node.log.last_index, node.log.last_term
    me = (node.id, node.storage, node.term, node.address)
    return AppendEntries(*me, previous, term, min(node.commit_index, previous), lead.round, ())


def _agreed_on(peer: Progress) -> Index:
    """Not what was sent ahead: that may still wait for the disk, and would be missed."""
    return peer.next - 1 if peer.state is ProgressState.PROBE else peer.match


def response(node: RaftNode, message: AnyMessage) -> Addressed | None:
    """To the leader, at once: its message has come. What it asks for is answered after the write."""
    if not isinstance(message, AppendEntries) or node.leadership is not None:
        return None
    if message.term != node.term or message.sender != node.leader_id:
        return None
    # Committed entries are the leader's too, and these are on this disk.
    index = min(node.commit_index, node.log.stable)
    answer = AppendEntriesResponse(
        node.id, node.storage, node.term, message.round, accepted=True, index=index
    )
    return message.sender, answer
