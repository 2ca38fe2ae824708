"""Elections: when a voter campaigns, when it grants a vote, and when a working leader is protected.

A voter votes once per term, and only for a log that is at least as up-to-date as its own. So a winner, with a
majority, has every committed entry. A round of pre-votes comes first: it changes nothing, and a candidate
that would not win stops there.
"""

from tidelog.raft import leading
from tidelog.raft.entries import TERM_MAX
from tidelog.raft.messages import (
    AnyMessage,
    FindLeader,
    PreVote,
    PreVoteResponse,
    RequestVote,
    RequestVoteResponse,
    TimeoutNow,
)
from tidelog.raft.quorum import VoteResult, vote_result, votes_needed
from tidelog.raft.state import RaftNode, Role


def on_deadline(node: RaftNode, now: float) -> None:
    """The election timeout has passed without a leader."""
    node.leader_id = None
    if node.may_campaign:
        pre_campaign(node, now)
    else:
        node.restart_timer(now)
    find_leader(node)


def find_leader(node: RaftNode) -> None:
    """A leader that does not know this node, its disk or its address learns of them. Other nodes
    ignore it."""
    request = FindLeader(node.id, node.storage, node.term, node.address)
    known = {voter.id: None for voter in (*node.configuration.voters, *node.seeds) if voter.id != node.id}
    for voter_id in known:
        node.send(voter_id, request)


def pre_campaign(node: RaftNode, now: float) -> None:
    _become_candidate(node, Role.PRE_CANDIDATE, now)
    end = (node.log.last_index, node.log.last_term)
    _ask_all(node, PreVote(node.id, node.storage, node.term, node.address, *end))
    _count(node, now)


def campaign(node: RaftNode, now: float, *, transfer: bool = False) -> None:
    if node.term >= TERM_MAX:
        return
    node.enter_term(node.term + 1)
    node.elections += 1
    _become_candidate(node, Role.CANDIDATE, now)
    node.voted_for, node.voted_storage = node.id, node.storage
    log = node.log
    _ask_all(
        node,
        RequestVote(node.id, node.storage, node.term, node.address, log.last_index, log.last_term, transfer),
    )
    _count(node, now)


def _become_candidate(node: RaftNode, role: Role, now: float) -> None:
    node.role = role
    node.leader_id = None
    node.restart_timer(now)
    node.votes.clear()
    if node.is_voter:  # one that is being removed needs the votes of the others alone
        node.votes[node.id] = node.storage


def _ask_all(node: RaftNode, request: AnyMessage) -> None:
    for voter in node.counted:
        if voter.id != node.id:
            node.send(voter.id, request)


def on_pre_vote(node: RaftNode, request: PreVote, now: float) -> None:
    granted = (
        request.term == node.term
        and not node.has_live_leader(now)
        and node.log.is_up_to_date(request.last_index, request.last_term)
    )
    node.send(request.sender, PreVoteResponse(node.id, node.storage, node.term, granted))


def on_request_vote(node: RaftNode, request: RequestVote, now: float) -> None:
    granted = (
        request.term == node.term
        and may_vote_for(node, request)
        and node.log.is_up_to_date(request.last_index, request.last_term)
    )
    if granted:
        node.voted_for, node.voted_storage = request.sender, request.storage
        node.restart_timer(now)
    node.send(request.sender, RequestVoteResponse(node.id, node.storage, node.term, granted))


def may_vote_for(node: RaftNode, request: RequestVote) -> bool:
    """One vote per term. Repeating it is fine if the same candidate asks again."""
    if node.voted_for is None:
        return node.leader_id is None
    return (node.voted_for, node.voted_storage) == (request.sender, request.storage)


def on_pre_vote_response(node: RaftNode, answer: PreVoteResponse, now: float) -> None:
    if node.role is Role.PRE_CANDIDATE:
        _record(node, answer, now)


def on_request_vote_response(node: RaftNode, answer: RequestVoteResponse, now: float) -> None:
    if node.role is Role.CANDIDATE:
        _record(node, answer, now)


def _record(node: RaftNode, answer: PreVoteResponse | RequestVoteResponse, now: float) -> None:
    """Ignores the vote of a node, or of a disk, that has no seat."""
    if node.recognizes(answer.sender, answer.storage):
        if answer.granted:
            node.votes[answer.sender] = answer.storage
        else:
            node.votes.setdefault(answer.sender, None)
        _count(node, now)


def _count(node: RaftNode, now: float) -> None:
    granted = sum(storage is not None for storage in node.votes.values())
    result = vote_result(
        granted=granted,
        refused=len(node.votes) - granted,
        seats=len(node.counted),
        needed=votes_needed(node.configuration),
    )
    if result is VoteResult.WON and node.role is Role.PRE_CANDIDATE:
        campaign(node, now)
    elif result is VoteResult.WON:
        leading.begin(node, now)
    elif result is VoteResult.LOST:
        node.follow(None, now)


def on_timeout_now(node: RaftNode, order: TimeoutNow, now: float) -> None:
    """The leader transfers leadership to this node: no pre-vote, and other voters need not protect the
    leader."""
    if node.is_voter and node.leader_id == order.sender:
        campaign(node, now, transfer=True)
