"""A snapshot from the leader takes the place of the whole log, in steps that a start after a crash completes.

1. The snapshot is durable under the name `<index>-<term>.install`. From here on it holds, the log does not.
2. The files of the log and the older snapshots are removed, and an empty log begins after the snapshot.
3. The snapshot gets its final name.
"""

from tidelog.base.ports import Disk, replace_file
from tidelog.metadata.store.entries.log import EntryLog
from tidelog.metadata.store.entries.scan import log_bases
from tidelog.metadata.store.snapshot_files import (
    INSTALL,
    SnapshotId,
    parse_snapshot_name,
    read_snapshot_file,
)


def install(disk: Disk, directory: str, entry_log: EntryLog, identity: SnapshotId, data: bytes) -> None:
    """`data` has been checked. Blocks on the disk."""
    replace_file(disk, identity.path(directory, INSTALL), data)
    _complete(disk, directory, entry_log, identity)


def complete_pending_install(disk: Disk, directory: str) -> None:
    """What a crash left undone. StorageError where the snapshot that should hold cannot be read."""
    pending = [id for name in disk.names(directory) if (id := parse_snapshot_name(name, INSTALL))]
    for identity in pending:
        read_snapshot_file(disk, identity.path(directory, INSTALL), identity)
        bases = log_bases(disk, directory)
        entry_log = EntryLog(disk, directory, bases, identity.index + 1)
        _complete(disk, directory, entry_log, identity)
        entry_log.close()


def _complete(disk: Disk, directory: str, entry_log: EntryLog, identity: SnapshotId) -> None:
    entry_log.restart_at(identity.index + 1)
    for name in disk.names(directory):
        if parse_snapshot_name(name) is not None:
            disk.remove(f"{directory}/{name}")
    disk.rename(identity.path(directory, INSTALL), identity.path(directory))
    disk.sync_dir(directory)
