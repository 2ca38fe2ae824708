"""Changes of the voters, one at a time, so that a majority before and a majority after always share a member.

A change is a log entry, in force once appended. The leader makes some changes by itself: it pins the disks of
voters, corrects addresses, and gives the seat of a voter that lost its disk to the new disk. The latter takes
two changes, since two disks are two members: first the seat becomes vacant, then the new disk, once it has
caught up, takes it. In one step, {old disk, A} and {new disk, B} would be majorities without a common member.
"""

from tidelog.base.errors import ProtocolError
from tidelog.raft import transfer
from tidelog.raft.entries import Configuration, Entry, EntryKind, Index, Voter
from tidelog.raft.errors import ChangeRefused
from tidelog.raft.leadership import Leadership
from tidelog.raft.progress import Progress
from tidelog.raft.quorum import majority
from tidelog.raft.state import RaftNode


def seat_voters(node: RaftNode, lead: Leadership, now: float) -> None:
    """Track every voter, so that entries are sent to it even if it never responded."""
    for voter in node.configuration.voters:
        if voter.id != node.id and voter.id not in lead.peers:
            lead.peers[voter.id] = Progress(voter.id, node.log.last_index + 1, now)


def append_configuration(node: RaftNode, lead: Leadership, configuration: Configuration, now: float) -> Index:
    for voter in node.configuration.voters:
        if configuration.find(voter.id) is None:  # It stays as an observer, so its address is needed.
            node.learn_address(voter.id, node.address_of(voter.id) or voter.address)
    node.append([Entry(node.term, EntryKind.CONFIG, configuration.encode())])
    seat_voters(node, lead, now)
    return node.log.last_index


def is_pending(node: RaftNode) -> bool:
    return node.configurations.current_index > node.commit_index


def after_commit(node: RaftNode, lead: Leadership, now: float) -> None:
    if is_pending(node):
        return
    if node.is_voter:
        maintain(node, lead, now)
        return
    # The leader has removed itself. Send the commit index to the others, then step down.
    transfer.resign(node, lead, now)


def maintain(node: RaftNode, lead: Leadership, now: float) -> None:
    """Make the next change that the configuration needs, if it is time for one."""
    if node.commit_index < lead.first_index or lead.transfer is not None or is_pending(node):
        return
    wanted = refreshed(node, lead)
    if wanted == node.configuration:
        wanted = reseated(node, lead, now)
    if wanted != node.configuration:
        append_configuration(node, lead, wanted, now)


def refreshed(node: RaftNode, lead: Leadership) -> Configuration:
    """With the disks and addresses that the voters announced. The members stay the same."""
    configuration = node.configuration
    for voter in node.counted:
        known = _known_voter(node, lead, voter)
        if known != voter:
            configuration = configuration.with_voter(known)
    return configuration


def _known_voter(node: RaftNode, lead: Leadership, voter: Voter) -> Voter:
    if voter.id == node.id:
        return Voter(voter.id, node.address, node.storage)
    peer = lead.progress_of(voter)
    return voter if peer is None else Voter(voter.id, peer.address or voter.address, peer.storage)


def reseated(node: RaftNode, lead: Leadership, now: float) -> Configuration:
    """With one seat made vacant, or given to the disk that has caught up."""
    for voter in node.configuration.voters:
        peer = lead.peers.get(voter.id)
        if peer is None or peer.storage is None or not peer.is_live(now, node.settings.election_timeout):
            continue
        if voter.vacant:
            if lacks(node, peer) is None:
                filled = Voter(voter.id, peer.address or voter.address, peer.storage)
                return node.configuration.with_voter(filled)
        elif not voter.is_held_by(peer.storage):
            is_stable = now - peer.storage_since >= node.settings.election_timeout
            vacated = node.configuration.with_voter(Voter(voter.id, voter.address, None, vacant=True))
            if is_stable and vacated.counted and has_live_majority(node, lead, vacated, now):
                return vacated
    return node.configuration


def change(node: RaftNode, lead: Leadership, wanted: Configuration, now: float) -> Index:
    if node.commit_index < lead.first_index:
        raise ChangeRefused("the leader is new and has not committed anything yet: try again in a moment")
    if is_pending(node):
        raise ChangeRefused("another change of the voters is under way: try again when it is committed")
    if lead.transfer is not None:
        raise ChangeRefused("leadership is being transferred: try again with the new leader")
    configuration = checked(node, lead, wanted, now)
    try:
        Configuration.decode(configuration.encode())
    except ProtocolError as error:  # once in the log, it could not be read, nor anything after it
        raise ChangeRefused(str(error)) from error
    return append_configuration(node, lead, configuration, now)


def checked(node: RaftNode, lead: Leadership, wanted: Configuration, now: float) -> Configuration:
    """The wanted configuration with the new voter's disk filled in; ChangeRefused if it is not one change."""
    present = {voter.id: voter for voter in node.configuration.voters}
    future = {voter.id: voter for voter in wanted.voters}
    if len(future) != len(wanted.voters):
        raise ChangeRefused("one node cannot have two seats")
    added = [voter for node_id, voter in future.items() if node_id not in present]
    removed = [voter for node_id, voter in present.items() if node_id not in future]
    if not added and not removed:
        raise ChangeRefused("these nodes have seats already; a vacant one is filled when its node is ready")
    if len(added) + len(removed) != 1:
        raise ChangeRefused(
            f"{len(added)} voters would be added and {len(removed)} removed: change one voter at a time"
        )
    if added:
        return node.configuration.with_voter(_admitted(node, lead, added[0], now))
    smaller = node.configuration.without(removed[0].id)
    if not smaller.counted:
        raise ChangeRefused("the last voter cannot be removed")
    if not removed[0].vacant and not has_live_majority(node, lead, smaller, now):
        raise ChangeRefused("of the voters that would be left, no majority answers: repair one of them first")
    return smaller


def _admitted(node: RaftNode, lead: Leadership, voter: Voter, now: float) -> Voter:
    peer = lead.peers.get(voter.id)
    if peer is None or peer.storage is None or not peer.is_live(now, node.settings.election_timeout):
        raise ChangeRefused(f"node {voter.id} does not follow the metadata log: start it first")
    if voter.storage not in (None, peer.storage):
        raise ChangeRefused(f"node {voter.id} answers from another disk than the one named")
    missing = lacks(node, peer)
    if missing is not None:
        raise ChangeRefused(f"node {voter.id} still lacks {missing} entries: try again when it has caught up")
    return Voter(voter.id, voter.address, peer.storage)


def lacks(node: RaftNode, peer: Progress) -> int | None:
    """The number of entries that a new voter still lacks; None if it is close enough to vote."""
    missing = node.log.last_index - peer.match
    return missing if missing > node.settings.catch_up_entries_max else None


def has_live_majority(node: RaftNode, lead: Leadership, configuration: Configuration, now: float) -> bool:
    live = sum(_is_live_voter(node, lead, voter, now) for voter in configuration.counted)
    return live >= majority(len(configuration.counted))


def _is_live_voter(node: RaftNode, lead: Leadership, voter: Voter, now: float) -> bool:
    if voter.id == node.id:
        return True
    peer = lead.progress_of(voter)
    return peer is not None and peer.is_live(now, node.settings.election_timeout)
