"""Elections: who asks for votes, who gets them, when a leader is protected from them.

A voter votes once per term, and only for a log that has all that its own has. So a winner, having a
majority, has every committed entry. A round of pre-votes comes first: it changes nothing, and who would
not win goes no further.
"""

from tidelog.raft import leading
from tidelog.raft.entries import TERM_MAX
from tidelog.raft.messages import AnyMessage, Hello, PreVote, PreVoteAnswer, TimeoutNow, Vote, VoteAnswer
from tidelog.raft.quorum import Outcome, outcome, votes_needed
from tidelog.raft.state import Node, Role


def on_deadline(node: Node, now: float) -> None:
    """Too long without a leader."""
    node.leader_id = None
    if node.is_voter:
        seek_pre_votes(node, now)
    else:
        node.restart_timer(now)
    say_hello(node)


def say_hello(node: Node) -> None:
    """A leader that does not know us, or not our disk or address, learns of us. Others ignore it."""
    hello = Hello(node.id, node.storage, node.term, node.address)
    known = {voter.id: None for voter in (*node.configuration.voters, *node.seeds) if voter.id != node.id}
    for voter_id in known:
        node.send(voter_id, hello)


def seek_pre_votes(node: Node, now: float) -> None:
    _stand(node, Role.PRE_CANDIDATE, now)
    end = (node.log.last_index, node.log.last_term)
    _ask_all(node, PreVote(node.id, node.storage, node.term, node.address, *end))
    _count(node, now)


def seek_votes(node: Node, now: float, *, transfer: bool = False) -> None:
    if node.term >= TERM_MAX:
        return
    node.enter_term(node.term + 1)
    _stand(node, Role.CANDIDATE, now)
    node.voted_for, node.voted_storage = node.id, node.storage
    log = node.log
    _ask_all(
        node, Vote(node.id, node.storage, node.term, node.address, log.last_index, log.last_term, transfer)
    )
    _count(node, now)


def _stand(node: Node, role: Role, now: float) -> None:
    node.role = role
    node.leader_id = None
    node.restart_timer(now)
    node.ballot.clear()
    node.ballot[node.id] = node.storage


def _ask_all(node: Node, request: AnyMessage) -> None:
    for voter in node.counted:
        if voter.id != node.id:
            node.send(voter.id, request)


def on_pre_vote(node: Node, request: PreVote, now: float) -> None:
    granted = (
        request.term == node.term
        and not node.has_live_leader(now)
        and node.log.has_all_of(request.last_index, request.last_term)
    )
    node.send(request.sender, PreVoteAnswer(node.id, node.storage, node.term, granted))


def on_vote(node: Node, request: Vote, now: float) -> None:
    granted = (
        request.term == node.term
        and may_vote_for(node, request)
        and node.log.has_all_of(request.last_index, request.last_term)
    )
    if granted:
        node.voted_for, node.voted_storage = request.sender, request.storage
        node.restart_timer(now)
    node.send(request.sender, VoteAnswer(node.id, node.storage, node.term, granted))


def may_vote_for(node: Node, request: Vote) -> bool:
    """One vote a term. Repeating it is fine, if the very same candidate asks again."""
    if node.voted_for is None:
        return node.leader_id is None
    return (node.voted_for, node.voted_storage) == (request.sender, request.storage)


def on_pre_vote_answer(node: Node, answer: PreVoteAnswer, now: float) -> None:
    if node.role is Role.PRE_CANDIDATE:
        _record(node, answer, now)


def on_vote_answer(node: Node, answer: VoteAnswer, now: float) -> None:
    if node.role is Role.CANDIDATE:
        _record(node, answer, now)


def _record(node: Node, answer: PreVoteAnswer | VoteAnswer, now: float) -> None:
    """The word of a node, or of a disk, that has no seat does not count."""
    if node.recognizes(answer.sender, answer.storage):
        if answer.granted:
            node.ballot[answer.sender] = answer.storage
        else:
            node.ballot.setdefault(answer.sender, None)
        _count(node, now)


def _count(node: Node, now: float) -> None:
    granted = sum(storage is not None for storage in node.ballot.values())
    result = outcome(
        granted=granted,
        refused=len(node.ballot) - granted,
        seats=len(node.counted),
        needed=votes_needed(node.configuration),
    )
    if result is Outcome.WON and node.role is Role.PRE_CANDIDATE:
        seek_votes(node, now)
    elif result is Outcome.WON:
        leading.begin(node, now)
    elif result is Outcome.LOST:
        node.follow(None, now)


def on_timeout_now(node: Node, order: TimeoutNow, now: float) -> None:
    """The leader hands over to us: no pre-vote, and others need not protect it."""
    if node.is_voter and node.leader_id == order.sender:
        seek_votes(node, now, transfer=True)
