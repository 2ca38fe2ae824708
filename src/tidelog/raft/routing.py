"""Every message passes here first: its sender's term is older than ours, equal, or newer."""

import msgspec

from tidelog.raft import election, following, leading
from tidelog.raft.entries import NO_TERM, Term
from tidelog.raft.messages import (
    AnyMessage,
    AppendEntries,
    AppendEntriesResponse,
    FindLeader,
    InstallSnapshot,
    InstallSnapshotResponse,
    PreVote,
    PreVoteResponse,
    Request,
    RequestVote,
    RequestVoteResponse,
    TimeoutNow,
)
from tidelog.raft.state import RaftNode

TERM_JUMP_MAX: Term = 1 << 20
"""No cluster has so many elections while a node is away. A faulty peer could use up our terms."""


def route(node: RaftNode, message: AnyMessage, now: float) -> None:
    if message.sender == node.id or node.is_impostor(message.sender, message.storage, now):
        return
    if isinstance(message, Request):
        node.learn_address(message.sender, message.address)
    if message.term > node.term:
        if node.term != NO_TERM and message.term - node.term > TERM_JUMP_MAX:
            return
        if _is_disruptive(node, message, now):
            _refuse_candidate(node, message)
            return
        node.enter_term(message.term)
        node.follow(None, now)
    elif message.term < node.term:
        _answer_stale(node, message, now)
        return
    _handle(node, message, now)


def _is_disruptive(node: RaftNode, message: AnyMessage, now: float) -> bool:
    """Whether this is a candidate of a later term while our leader works. It must not even raise our term."""
    if isinstance(message, RequestVote):
        return not message.transfer and node.has_live_leader(now)
    return isinstance(message, PreVote) and node.has_live_leader(now)


def _refuse_candidate(node: RaftNode, message: AnyMessage) -> None:
    if isinstance(message, RequestVote):
        node.send(message.sender, RequestVoteResponse(node.id, node.storage, node.term, granted=False))
    else:
        node.send(message.sender, PreVoteResponse(node.id, node.storage, node.term, granted=False))


def _answer_stale(node: RaftNode, message: AnyMessage, now: float) -> None:
    """Respond to stale requests with our term. Ignore stale responses and orders of a former leader."""
    match message:
        case RequestVote() | PreVote():
            _refuse_candidate(node, message)
        case AppendEntries() | InstallSnapshot():
            node.send(
                message.sender,
                AppendEntriesResponse(node.id, node.storage, node.term, round=0, accepted=False, index=-1),
            )
        case FindLeader():
            _route_find_leader(node, message, now)
        case _:
            pass


def _handle(node: RaftNode, message: AnyMessage, now: float) -> None:
    lead = node.leadership
    match message:
        case AppendEntries():
            following.on_append_entries(node, message, now)
        case AppendEntriesResponse() if lead is not None:
            leading.on_append_entries_response(node, lead, message, now)
        case InstallSnapshot():
            following.on_install_snapshot(node, message, now)
        case InstallSnapshotResponse() if lead is not None:
            leading.on_install_snapshot_response(node, lead, message, now)
        case PreVote():
            election.on_pre_vote(node, message, now)
        case PreVoteResponse():
            election.on_pre_vote_response(node, message, now)
        case RequestVote():
            election.on_request_vote(node, message, now)
        case RequestVoteResponse():
            election.on_request_vote_response(node, message, now)
        case TimeoutNow():
            election.on_timeout_now(node, message, now)
        case FindLeader():
            _route_find_leader(node, message, now)
        case _:
            pass


def _route_find_leader(node: RaftNode, request: FindLeader, now: float) -> None:
    if node.leadership is not None:
        leading.on_find_leader(node, node.leadership, request, now)
    elif node.leader_id is not None and not request.is_forwarded and request.sender != node.leader_id:
        if node.recognizes(request.sender, request.storage):
            return  # The leader knows it, too.
        node.send(node.leader_id, msgspec.structs.replace(request, is_forwarded=True))
