"""What a leader sends: entries within the window, heartbeats, the commit index, snapshots in chunks.

Nothing is sent when it becomes possible, but when the shell asks for a Ready: so proposals that come
together travel together.
"""

from tidelog.raft.entries import Entry
from tidelog.raft.leadership import Leadership, Transfer
from tidelog.raft.messages import AppendEntries, InstallSnapshot, TimeoutNow
from tidelog.raft.progress import Progress, ProgressState
from tidelog.raft.state import RaftNode


def replicate(node: RaftNode, lead: Leadership) -> None:
    is_heartbeat, lead.heartbeat_is_due = lead.heartbeat_is_due, False
    lead.round_is_unsent = False
    for peer in lead.peers.values():
        if peer.state is not ProgressState.SNAPSHOT:
            _send_entries(node, lead, peer, is_heartbeat)
        if peer.state is ProgressState.SNAPSHOT:
            _send_chunk(node, lead, peer, is_heartbeat)
    if lead.transfer is not None:
        _hand_over(node, lead, lead.transfer)


def _hand_over(node: RaftNode, lead: Leadership, transfer: Transfer) -> None:
    """Once the target has the whole log, tell it to campaign: last, so that it gets the commit index
    before."""
    peer = lead.peers.get(transfer.target)
    if peer is not None and peer.match == node.log.last_index and not transfer.is_sent:
        transfer.is_sent = True
        node.send(peer.id, TimeoutNow(node.id, node.storage, node.term))


def _send_entries(node: RaftNode, lead: Leadership, peer: Progress, is_heartbeat: bool) -> None:
    log, settings = node.log, node.settings
    is_silent = True
    if peer.next <= log.base_index and _start_snapshot(node, peer):
        return
    while log.base_index < peer.next <= log.last_index:
        room = peer.room(settings.window_bytes, settings.window_entries)
        if room <= 0:
            break
        entries, size = log.batch(peer.next, settings.message_bytes_max, room)
        _send_append(node, lead, peer, entries)
        peer.sent(peer.next + len(entries) - 1, size)
        is_silent = False
    # An empty AppendEntries says that we still lead, carries the commit index, and checks what has arrived.
    commit_advanced = peer.sent_commit < node.commit_index and peer.state is ProgressState.REPLICATE
    if is_silent and (is_heartbeat or commit_advanced):
        _send_append(node, lead, peer, ())


def _send_append(node: RaftNode, lead: Leadership, peer: Progress, entries: tuple[Entry, ...]) -> None:
    previous = peer.next - 1
    term = node.log.term_at(previous)
    if term is None:
        # There is no snapshot for it yet. It will reject this, but learn that there is a leader.
        previous, term = node.log.last_index, node.log.last_term
    commit = peer.sent_commit = node.commit_index
    me = (node.id, node.storage, node.term, node.address)
    node.send(peer.id, AppendEntries(*me, previous, term, commit, lead.round, entries))


def _start_snapshot(node: RaftNode, peer: Progress) -> bool:
    snapshot = node.snapshot_source()
    if snapshot is None or snapshot.index < node.log.base_index:
        return False
    peer.send_snapshot(snapshot)
    return True


def _send_chunk(node: RaftNode, lead: Leadership, peer: Progress, is_heartbeat: bool) -> None:
    """One chunk at a time. A heartbeat in the meantime is empty: the response shows whether the chunk was
    lost."""
    snapshot = peer.snapshot
    if snapshot is None:
        return
    if peer.is_waiting:
        if not is_heartbeat:
            return
        data = b""
        peer.is_asked = True
    else:
        end = peer.snapshot_position + node.settings.message_bytes_max
        data = snapshot.data[peer.snapshot_position : end]
        peer.is_waiting, peer.is_asked = True, False
    node.send(
        peer.id,
        InstallSnapshot(
            node.id,
            node.storage,
            node.term,
            node.address,
            snapshot.index,
            snapshot.term,
            snapshot.configuration.encode(),
            peer.snapshot_position,
            len(snapshot.data),
            lead.round,
            data,
        ),
    )
