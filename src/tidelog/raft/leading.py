"""The leader: begin a term, count acknowledgements, advance the commit index, step down without a
majority."""

import math

from tidelog.raft import membership, reads, transfer
from tidelog.raft.entries import NO_INDEX, NO_TERM, Entry, EntryKind, Index
from tidelog.raft.leadership import Leadership
from tidelog.raft.messages import AppendEntriesResponse, FindLeader, InstallSnapshotResponse
from tidelog.raft.progress import Progress, ProgressState
from tidelog.raft.quorum import reached_by_majority
from tidelog.raft.state import RaftNode, Role


def begin(node: RaftNode, now: float) -> None:
    """Won the election. The no-op of the new term is what commits the entries of earlier terms."""
    node.role = Role.LEADER
    node.leader_id = node.id
    node.incoming = None
    node.leadership = Leadership(
        since=now,
        first_index=node.log.last_index + 1,
        heartbeat_deadline=now + node.settings.heartbeat_interval,
        quorum_deadline=now + node.settings.election_timeout,
    )
    membership.seat_voters(node, node.leadership, now)
    for peer in node.leadership.peers.values():
        peer.storage = node.votes.get(peer.id)
    node.votes.clear()
    node.append([Entry(node.term, EntryKind.NOOP)])


def on_append_entries_response(
    node: RaftNode, lead: Leadership, answer: AppendEntriesResponse, now: float
) -> None:
    peer = record_contact(node, lead, answer, now)
    if peer is None or answer.index > node.log.last_index:
        return
    if answer.accepted:
        before = peer.match
        peer.accepted(answer.index)
        if peer.match == node.log.last_index:
            peer.caught_up_at = now
        if peer.match > before:
            advance_commit(node, lead, now)
    elif peer.is_current(answer.index):
        peer.probe_from(retry_index(node, answer))
    if node.leadership is lead:
        reads.confirm(node, lead)


def on_install_snapshot_response(
    node: RaftNode, lead: Leadership, answer: InstallSnapshotResponse, now: float
) -> None:
    peer = record_contact(node, lead, answer, now)
    if peer is None:
        return
    reads.confirm(node, lead)
    if (
        peer.state is ProgressState.SNAPSHOT
        and peer.snapshot is not None
        and answer.index == peer.snapshot.index
    ):
        peer.received_of_snapshot(answer.received)


def on_find_leader(node: RaftNode, lead: Leadership, request: FindLeader, now: float) -> None:
    """Start to replicate to a node without a leader. It counts as live only when it responds to that."""
    peer = lead.peers.get(request.sender)
    if peer is None:
        if len(lead.peers) >= node.settings.observers_max:
            return
        peer = lead.peers[request.sender] = Progress(request.sender, node.log.last_index + 1, now)
        lead.heartbeat_is_due = True
    peer.address = request.address


def record_contact(
    node: RaftNode, lead: Leadership, answer: AppendEntriesResponse | InstallSnapshotResponse, now: float
) -> Progress | None:
    peer = lead.peers.get(answer.sender)
    if peer is None or answer.round > lead.round:
        return None
    peer.record_contact(answer.storage, node.log.last_index + 1, now)
    peer.round = max(peer.round, answer.round)
    return peer


def retry_index(node: RaftNode, refusal: AppendEntriesResponse) -> Index:
    """The next index to try: skips a whole term of the follower's log at a time, not one entry."""
    candidate = refusal.conflict_index
    if refusal.conflict_term != NO_TERM:
        last = node.log.last_up_to_term(refusal.index - 1, refusal.conflict_term)
        if node.log.term_at(last) == refusal.conflict_term:
            candidate = last + 1
    return max(0, min(candidate, refusal.index))


def advance_commit(node: RaftNode, lead: Leadership, now: float) -> None:
    index = reached_by_majority(acknowledged(node, lead))
    if index > node.commit_index and may_commit(node, index):
        node.commit_index = index
        reads.confirm(node, lead)
        membership.after_commit(node, lead, now)


def acknowledged(node: RaftNode, lead: Leadership) -> list[Index]:
    """The index up to which each counted voter's disk has the log; NO_INDEX for a voter that never
    responded."""
    indexes = []
    for voter in node.counted:
        if voter.id == node.id:
            indexes.append(node.log.stable)
        else:
            peer = lead.progress_of(voter)
            indexes.append(NO_INDEX if peer is None else peer.match)
    return indexes


def may_commit(node: RaftNode, index: Index) -> bool:
    """Only entries of the leader's own term are committed by counting; they carry the earlier ones along.

    An entry of an earlier term may be on a majority and still be overwritten by a leader whose log ends
    in a later term: figure 8 of the Raft paper.
    """
    return node.log.term_at(index) == node.term


def tick(node: RaftNode, lead: Leadership, now: float) -> None:
    if now >= lead.quorum_deadline:
        lead.quorum_deadline = majority_heard_at(node, lead, now) + node.settings.election_timeout
        if now >= lead.quorum_deadline:
            node.follow(None, now)
            return
    transfer.tick(lead, now)
    if now >= lead.heartbeat_deadline:
        lead.heartbeat_deadline = now + node.settings.heartbeat_interval
        lead.heartbeat_is_due = True
        forget_inactive(node, lead, now)
        membership.maintain(node, lead, now)


def majority_heard_at(node: RaftNode, lead: Leadership, now: float) -> float:
    """The last time at which a majority had responded. A leader isolated from it must step down."""
    times = []
    for voter in node.counted:
        peer = lead.progress_of(voter)
        if voter.id == node.id:
            times.append(now)
        elif peer is None or peer.heard_at is None:
            times.append(lead.since)
        else:
            times.append(peer.heard_at)
    return reached_by_majority(times)


def forget_inactive(node: RaftNode, lead: Leadership, now: float) -> None:
    for peer in list(lead.peers.values()):
        silent_for = now - (lead.since if peer.heard_at is None else peer.heard_at)
        if node.configuration.find(peer.id) is None:
            silent_for = now - (peer.storage_since if peer.heard_at is None else peer.heard_at)
            if silent_for >= node.settings.observer_timeout:
                del lead.peers[peer.id]
                continue
        if silent_for >= node.settings.election_timeout and peer.state is ProgressState.REPLICATE:
            peer.probe_from(peer.match + 1)
            peer.is_waiting = True


def next_deadline(lead: Leadership) -> float:
    """Never for a leader without peers."""
    if not lead.peers:
        return math.inf
    deadline = min(lead.heartbeat_deadline, lead.quorum_deadline)
    return deadline if lead.transfer is None else min(deadline, lead.transfer.deadline)
