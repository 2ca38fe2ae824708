"""Read index: the index that must be applied before a read is linearizable.

A leader knows what is committed, but not whether it still leads. So a read waits until a majority has
responded to a heartbeat that was sent after the read came: heartbeat rounds are numbered for this.
"""

from tidelog.raft.entries import Index
from tidelog.raft.leadership import Leadership, PendingRead
from tidelog.raft.quorum import reached_by_majority
from tidelog.raft.ready import ReadResult, ReadTicket
from tidelog.raft.state import RaftNode


def ask(node: RaftNode, lead: Leadership, ticket: ReadTicket) -> None:
    if not lead.round_is_unsent:
        lead.round += 1
        lead.round_is_unsent = lead.heartbeat_is_due = True
    lead.reads.append(PendingRead(ticket, lead.round, _index_now(node, lead)))
    confirm(node, lead)


def confirm(node: RaftNode, lead: Leadership) -> None:
    """Answer the reads that a majority has confirmed, in the order in which they came."""
    if not lead.reads:
        return
    confirmed = _confirmed_round(node, lead)
    while lead.reads and lead.reads[0].round <= confirmed:
        read = lead.reads[0]
        index = _index_now(node, lead) if read.index is None else read.index
        if index is None:
            return
        node.read_results.append(ReadResult(read.ticket, index))
        del lead.reads[0]


def _index_now(node: RaftNode, lead: Leadership) -> Index | None:
    """None until the leader has committed in its term: before, it does not know what is committed."""
    return node.commit_index if node.commit_index >= lead.first_index else None


def _confirmed_round(node: RaftNode, lead: Leadership) -> int:
    rounds = []
    for voter in node.counted:
        peer = lead.progress_of(voter)
        if voter.id == node.id:
            rounds.append(lead.round)
        else:
            rounds.append(-1 if peer is None else peer.round)
    return reached_by_majority(rounds)
