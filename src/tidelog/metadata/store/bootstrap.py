"""The first start in an empty directory, and what a crash leaves behind there."""

from tidelog.base.ports import Disk
from tidelog.metadata.store.entries.scan import log_bases
from tidelog.metadata.store.quorum_state import missing_state, write_state
from tidelog.metadata.store.snapshot_files import INSTALL, parse_snapshot_name
from tidelog.raft.ready import HardState
from tidelog.storage.file_names import DELETED, LOG, file_name

_LEFTOVERS = (DELETED, ".tmp")


def bootstrap(disk: Disk, directory: str) -> HardState:
    """Begin in a directory without `quorum-state`. StorageError if only that file is missing.

    The file is written before the first entry, so a directory with entries or snapshots has lost it, and
    with it this node's vote.
    """
    names = disk.names(directory)
    if any(parse_snapshot_name(name) or parse_snapshot_name(name, INSTALL) for name in names):
        raise missing_state(directory)
    if any(disk.size(f"{directory}/{file_name(base, LOG)}") for base in log_bases(disk, directory)):
        raise missing_state(directory)
    state = HardState()
    write_state(disk, directory, state)
    return state


def remove_leftovers(disk: Disk, directory: str) -> None:
    """Files that a crash left half-written or half-deleted."""
    for name in disk.names(directory):
        if name.endswith(_LEFTOVERS):
            disk.remove(f"{directory}/{name}")
