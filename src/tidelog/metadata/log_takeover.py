"""Takes over the metadata log of a version of Tidelog that knew no quorum: batches of records without terms.

What it adds up to becomes a snapshot of term 0, after which the log goes on. Only when `quorum-state` is
written does the new form hold; a crash before that leaves the old files as they were.
"""

from tidelog.base.errors import StorageError
from tidelog.base.ids import TimestampMs
from tidelog.base.invariant import InvariantError
from tidelog.base.ports import Disk, File, replace_file
from tidelog.metadata import earlier_snapshots
from tidelog.metadata.earlier_log import EarlierLogScan
from tidelog.metadata.image.image import advance
from tidelog.metadata.store.entry_batches import KINDS
from tidelog.metadata.store.entry_log import EntryLog
from tidelog.metadata.store.entry_scan import log_bases
from tidelog.metadata.store.quorum_state import missing_state, write_state
from tidelog.metadata.store.snapshot import encode_snapshot
from tidelog.metadata.store.snapshot_files import INSTALL, SnapshotId, parse_snapshot_name
from tidelog.raft.entries import NO_TERM
from tidelog.raft.ready import HardState
from tidelog.storage.file_names import (
    DELETED,
    INDEX,
    LEADER_EPOCHS,
    LOG,
    SNAPSHOT,
    TIME_INDEX,
    file_name,
    parse,
)
from tidelog.storage.segment.scan import Good, SegmentScan
from tidelog.wire.record import read_records


def begin_quorum(disk: Disk, directory: str, now_ms: TimestampMs) -> str | None:
    """Make a folder without `quorum-state` one of the present form. Answers what was taken over, if any.

    StorageError where the folder has the present form already, and only that file is gone.
    """
    _refuse_entries(disk, directory)
    since, image = earlier_snapshots.load_newest(disk, directory)
    scan = EarlierLogScan(disk, directory, since)
    try:
        image = advance(image, scan.records()).after
    except (InvariantError, ValueError) as error:
        raise StorageError(
            f"{scan.where}: a metadata record does not fit those before it: {error}. Restore this folder "
            "from a backup."
        ) from error
    end = scan.end
    if end:
        scan.cut_torn_tail()
        identity = SnapshotId(end - 1, NO_TERM)
        data = encode_snapshot(image, end - 1, NO_TERM, None, now_ms)
        replace_file(disk, identity.path(directory), data)
        bases = log_bases(disk, directory)
        if end not in bases:
            EntryLog(disk, directory, [], end).close()
    write_state(disk, directory, HardState())
    return f"a metadata log of {end} records" if end else None


def remove_old_files(disk: Disk, directory: str) -> None:
    """What only the earlier version needs, and what a crash left half-written."""
    for name in disk.names(directory):
        suffix = (parse(name) or (0, ""))[1]
        is_old = (
            suffix in (INDEX, TIME_INDEX, SNAPSHOT, earlier_snapshots.CHECKPOINT) or name == LEADER_EPOCHS
        )
        if is_old or name.endswith((DELETED, ".tmp")):
            disk.remove(f"{directory}/{name}")


def _refuse_entries(disk: Disk, directory: str) -> None:
    for name in disk.names(directory):
        identity = parse_snapshot_name(name) or parse_snapshot_name(name, INSTALL)
        if identity is not None and identity.term > NO_TERM:
            raise missing_state(directory)
        if identity is not None:  # of an earlier attempt to take over
            disk.remove(f"{directory}/{name}")
    for base in log_bases(disk, directory):
        file = disk.open(f"{directory}/{file_name(base, LOG)}")
        try:
            if _holds_entries(file, base):
                raise missing_state(directory)
        finally:
            file.close()


def _holds_entries(file: File, base: int) -> bool:
    for found in SegmentScan(file, base, file.size()).run(0, base):
        if isinstance(found, Good):
            slots = read_records(file.read_at(found.position, found.header.size))
            return any(slot.key in KINDS for slot in slots)
    return False
