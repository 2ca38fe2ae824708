"""Every message passes here first: is its speaker's term older than ours, ours, or newer?"""

import msgspec

from tidelog.raft import election, following, leading
from tidelog.raft.entries import NO_TERM, Term
from tidelog.raft.messages import (
    AnyMessage,
    Append,
    AppendAnswer,
    Hello,
    PreVote,
    PreVoteAnswer,
    Request,
    SnapshotAnswer,
    SnapshotChunk,
    TimeoutNow,
    Vote,
    VoteAnswer,
)
from tidelog.raft.state import Node

TERM_JUMP_MAX: Term = 1 << 20
"""No cluster has so many elections while a node is away. A peer that says so would use up our terms."""


def route(node: Node, message: AnyMessage, now: float) -> None:
    if message.sender == node.id or node.is_impostor(message.sender, message.storage, now):
        return
    if isinstance(message, Request):
        node.learn_address(message.sender, message.address)
    if message.term > node.term:
        if node.term != NO_TERM and message.term - node.term > TERM_JUMP_MAX:
            return
        if _is_unwelcome(node, message, now):
            _refuse_candidate(node, message)
            return
        node.enter_term(message.term)
        node.follow(None, now)
    elif message.term < node.term:
        _answer_the_past(node, message, now)
        return
    _handle(node, message, now)


def _is_unwelcome(node: Node, message: AnyMessage, now: float) -> bool:
    """A candidate of a later term, while our leader works. It must not even move our term."""
    if isinstance(message, Vote):
        return not message.transfer and node.has_live_leader(now)
    return isinstance(message, PreVote) and node.has_live_leader(now)


def _refuse_candidate(node: Node, message: AnyMessage) -> None:
    if isinstance(message, Vote):
        node.send(message.sender, VoteAnswer(node.id, node.storage, node.term, granted=False))
    else:
        node.send(message.sender, PreVoteAnswer(node.id, node.storage, node.term, granted=False))


def _answer_the_past(node: Node, message: AnyMessage, now: float) -> None:
    """Who asks is told our term. Late answers, and orders of a leader that was, are nothing to us."""
    match message:
        case Vote() | PreVote():
            _refuse_candidate(node, message)
        case Append() | SnapshotChunk():
            node.send(
                message.sender,
                AppendAnswer(node.id, node.storage, node.term, round=0, accepted=False, index=-1),
            )
        case Hello():
            _greet(node, message, now)
        case _:
            pass


def _handle(node: Node, message: AnyMessage, now: float) -> None:
    lead = node.leadership
    match message:
        case Append():
            following.on_append(node, message, now)
        case AppendAnswer() if lead is not None:
            leading.on_append_answer(node, lead, message, now)
        case SnapshotChunk():
            following.on_snapshot_chunk(node, message, now)
        case SnapshotAnswer() if lead is not None:
            leading.on_snapshot_answer(node, lead, message, now)
        case PreVote():
            election.on_pre_vote(node, message, now)
        case PreVoteAnswer():
            election.on_pre_vote_answer(node, message, now)
        case Vote():
            election.on_vote(node, message, now)
        case VoteAnswer():
            election.on_vote_answer(node, message, now)
        case TimeoutNow():
            election.on_timeout_now(node, message, now)
        case Hello():
            _greet(node, message, now)
        case _:
            pass


def _greet(node: Node, hello: Hello, now: float) -> None:
    if node.leadership is not None:
        leading.on_hello(node, node.leadership, hello, now)
    elif node.leader_id is not None and not hello.is_forwarded and hello.sender != node.leader_id:
        if node.recognizes(hello.sender, hello.storage):
            return  # The leader knows it, too.
        node.send(node.leader_id, msgspec.structs.replace(hello, is_forwarded=True))
