"""The follower, voter or observer: take entries and snapshots from the leader of the term."""

from tidelog.base.errors import ProtocolError
from tidelog.raft.entries import NO_TERM, Configuration, Entry, EntryKind, Index, Term
from tidelog.raft.incoming_snapshot import IncomingSnapshot
from tidelog.raft.messages import (
    AppendEntries,
    AppendEntriesResponse,
    InstallSnapshot,
    InstallSnapshotResponse,
)
from tidelog.raft.state import RaftNode


def accept_leader(node: RaftNode, message: AppendEntries | InstallSnapshot, now: float) -> bool:
    """Whether this comes from the leader of our term; then follow it."""
    if node.leadership is not None or node.leader_id not in (None, message.sender):
        return False  # A second leader in one term: it was not elected.
    node.follow(message.sender, now)
    node.hear_from_leader(now)
    return True


def on_append_entries(node: RaftNode, message: AppendEntries, now: float) -> None:
    if not is_well_formed(message) or not accept_leader(node, message, now):
        return
    previous, entries = above_commit(node, message)
    if previous > message.previous_index and not entries:
        _accept(node, message, previous)
        return
    if previous == message.previous_index and node.log.term_at(previous) != message.previous_term:
        _refuse(node, message)
        return
    _take(node, previous, entries)
    last = previous + len(entries)
    node.commit_index = max(node.commit_index, min(message.commit, last))
    node.incoming = None
    _accept(node, message, last)


def is_well_formed(message: AppendEntries) -> bool:
    """Terms never fall along a log, and no entry is from a term that has not begun."""
    term = message.previous_term
    for entry in message.entries:
        if entry.term < term:
            return False
        term = entry.term
        if entry.kind is EntryKind.CONFIG and not _is_configuration(entry.data):
            return False
    return term <= message.term


def _is_configuration(data: bytes) -> bool:
    try:
        Configuration.decode(data)
    except ProtocolError:
        return False
    return True


def above_commit(node: RaftNode, message: AppendEntries) -> tuple[Index, tuple[Entry, ...]]:
    """Skip entries that are known to be committed: there the logs agree, and nothing may change."""
    known = node.commit_index - message.previous_index
    if known <= 0:
        return message.previous_index, message.entries
    return node.commit_index, message.entries[known:]


def _take(node: RaftNode, previous: Index, entries: tuple[Entry, ...]) -> None:
    """Append what is missing. Entries after a conflict go; without one nothing does, since an old message
    may hold less than we have."""
    for place, entry in enumerate(entries):
        index = previous + 1 + place
        term = node.log.term_at(index)
        if term == entry.term:
            continue
        if term is not None:
            node.truncate_from(index)
        node.append(list(entries[place:]))
        return


def _accept(node: RaftNode, message: AppendEntries | InstallSnapshot, index: Index) -> None:
    node.send(
        message.sender,
        AppendEntriesResponse(node.id, node.storage, node.term, message.round, accepted=True, index=index),
    )


def _refuse(node: RaftNode, message: AppendEntries) -> None:
    conflict_index, conflict_term = conflict(node, message.previous_index)
    node.send(
        message.sender,
        AppendEntriesResponse(
            node.id,
            node.storage,
            node.term,
            message.round,
            accepted=False,
            index=message.previous_index,
            conflict_index=conflict_index,
            conflict_term=conflict_term,
        ),
    )


def conflict(node: RaftNode, previous: Index) -> tuple[Index, Term]:
    """(index, term) that let the leader skip back over a whole term."""
    term = node.log.term_at(previous)
    if term is None:
        return node.log.last_index + 1, NO_TERM
    return node.log.first_of_term(previous), term


def on_install_snapshot(node: RaftNode, chunk: InstallSnapshot, now: float) -> None:
    if chunk.total > node.settings.snapshot_bytes_max or not _is_configuration(chunk.configuration):
        return
    if not accept_leader(node, chunk, now):
        return
    if chunk.index <= node.commit_index:
        node.incoming = None
        _accept(node, chunk, node.commit_index)
        return
    if node.incoming is None or not node.incoming.is_for(chunk):
        node.incoming = IncomingSnapshot(chunk)
    node.incoming.take(chunk)
    if node.incoming.is_complete:
        _install(node, node.incoming, chunk)
        node.incoming = None
        _accept(node, chunk, chunk.index)
        return
    answer = InstallSnapshotResponse(
        node.id, node.storage, node.term, chunk.index, node.incoming.received, chunk.round
    )
    node.send(chunk.sender, answer)


def _install(node: RaftNode, incoming: IncomingSnapshot, chunk: InstallSnapshot) -> None:
    node.commit_index = chunk.index
    if node.log.term_at(chunk.index) == chunk.index_term:
        return  # Our log has everything that the snapshot covers.
    snapshot = incoming.finish(chunk)
    node.install = snapshot
    node.log.replace(snapshot.index, snapshot.term)
    node.configurations.replace(snapshot.index, snapshot.configuration)
    node.applied_index = snapshot.index
