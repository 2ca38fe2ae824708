"""The durable state of a node of the metadata quorum: term and vote, entries, and snapshots.

`begin` takes a `Ready` of the Raft core, `Write.run` writes it in any thread, `finish` completes it; only
then may the core's messages be sent. One write at a time. Nothing is read again after `open`.
"""

import logging
from collections.abc import Sequence

from tidelog.base.errors import ErrorCode, KafkaError, StorageError
from tidelog.base.ids import TimestampMs
from tidelog.base.invariant import invariant
from tidelog.base.ports import Disk, make_directory
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.store.bootstrap import bootstrap, remove_leftovers
from tidelog.metadata.store.entries.log import EntryLog
from tidelog.metadata.store.entries.scan import EntryScan
from tidelog.metadata.store.install import complete_pending_install
from tidelog.metadata.store.quorum_state import QUORUM_STATE, REMEDY, read_state
from tidelog.metadata.store.snapshot import LoadedSnapshot, decode_snapshot, encode_snapshot
from tidelog.metadata.store.snapshot_files import SnapshotFiles, SnapshotId, SnapshotWrite
from tidelog.metadata.store.write import Write
from tidelog.raft.entries import Configuration, Entry, Index, Term
from tidelog.raft.ready import HardState, Ready, Snapshot
from tidelog.storage.shortages import is_shortage

__all__ = [
    "DIRECTORY",
    "LoadedSnapshot",
    "QuorumStore",
    "SnapshotWrite",
    "Write",
    "decode_snapshot",
    "encode_snapshot",
]

DIRECTORY = "__cluster_metadata-0"
SNAPSHOT_AFTER_ENTRIES = 10_000
SNAPSHOT_AFTER_BYTES = 16 << 20

log = logging.getLogger("tidelog.metadata")


class QuorumStore:
    def __init__(
        self,
        disk: Disk,
        directory: str,
        *,
        hard_state: HardState,
        snapshots: SnapshotFiles,
        snapshot: LoadedSnapshot,
        scan: EntryScan,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._snapshots = snapshots
        self._entry_log = EntryLog(disk, directory, scan.bases, scan.end)
        self._write: Write | None = None
        self._snapshot_write: SnapshotWrite | None = None
        self._bytes_since_snapshot = scan.bytes
        self._roll_due = False
        self.hard_state = hard_state
        self.snapshot = snapshot
        """As it was at the start; the driver knows the current one."""
        self.entries: Sequence[Entry] = scan.entries
        """All after `snapshot`, as they were at the start; forgotten at the first write."""
        self.last_index: Index = scan.end - 1
        """Everything up to this is on stable storage."""
        self.is_new = False
        """The directory was empty: this node has never voted, or has lost its vote."""
        self.offline: Exception | None = None
        """The error after which nothing can be written: this node must then leave the quorum."""

    @classmethod
    def open(cls, disk: Disk, directory: str) -> "QuorumStore":
        """Load what `directory` holds, or begin there. StorageError where it must not be trusted."""
        make_directory(disk, directory)
        hard_state = read_state(disk, directory)
        is_new = hard_state is None
        if hard_state is None:
            hard_state = bootstrap(disk, directory)
        remove_leftovers(disk, directory)
        complete_pending_install(disk, directory)
        snapshots = SnapshotFiles(disk, directory)
        snapshot = snapshots.load_newest()
        scan = EntryScan(disk, directory, snapshot.index, snapshot.term)
        scan.run()
        if scan.end <= snapshots.newest_ever:
            raise scan.stops_short(snapshots.newest_ever, snapshots.damaged_paths)
        if hard_state.term < scan.last_term:
            raise StorageError(
                f"{directory}/{QUORUM_STATE} at 0: it holds term {hard_state.term}, and the log beside it "
                f"has entries of term {scan.last_term}, so it is not of the same time. {REMEDY}"
            )
        snapshots.set_damaged_aside()
        if scan.truncated:
            log.warning("after a crash, the metadata log was repaired: %s", scan.truncated)
        opened = cls(
            disk, directory, hard_state=hard_state, snapshots=snapshots, snapshot=snapshot, scan=scan
        )
        opened.is_new = is_new
        opened._entry_log.sync(scan.last_write_at)
        return opened

    def begin(self, ready: Ready, now_ms: TimestampMs) -> Write | None:
        """Begin to write a Ready; None if it has nothing to write. KafkaError when the store is offline."""
        if self.offline is not None:
            raise self._storage_error()
        invariant(self._write is None, "a write before the last one was finished")
        if not ready.must_sync:
            return None
        self.entries = ()
        self._write = Write(
            self._disk,
            self._directory,
            self._entry_log,
            ready,
            now_ms,
            entries_needed_from=self._snapshots.entries_needed_from,
            roll=self._roll_due,
        )
        return self._write

    def must_wait(self, write: Write) -> bool:
        """The disk was too full for it, or no descriptor was free. Nothing else is written meanwhile, and it
        may run again: each of its steps then starts where it started the first time."""
        invariant(write is self._write and write.done, "a write out of order")
        return is_shortage(write.error)

    def finish(self, write: Write) -> None:
        """After `write.run`: all of it is durable; or KafkaError, and what is durable is unknown."""
        invariant(write is self._write and write.done, "a write out of order")
        self._write = None
        if write.error is not None:
            self.offline = write.error
            raise self._storage_error()
        if write.ready.hard_state is not None:
            self.hard_state = write.ready.hard_state
        if write.installed is not None:
            self._snapshots.replace_all(SnapshotId(write.installed.index, write.installed.term))
            self._bytes_since_snapshot = 0
        if write.entry_bytes:
            self._roll_due = False
        self._bytes_since_snapshot += write.entry_bytes
        self.last_index = self._entry_log.end - 1

    def begin_snapshot(
        self,
        image: ClusterImage,
        index: Index,
        term: Term,
        configuration: Configuration,
        now_ms: TimestampMs,
    ) -> SnapshotWrite | None:
        """A snapshot of the image after the entry at `index`; None while none is due.

        It may run beside a `Write`, in another thread.
        """
        newest = self._snapshots.newest_index
        is_due = (
            index - newest >= SNAPSHOT_AFTER_ENTRIES or self._bytes_since_snapshot >= SNAPSHOT_AFTER_BYTES
        )
        if not is_due or index <= newest or self._snapshot_write is not None or self.offline is not None:
            return None
        invariant(index <= self.last_index, "a snapshot of entries that are not durable", index=index)
        self._roll_due = True  # so that what the next snapshot replaces can be removed as whole files
        self._bytes_since_snapshot = 0
        self._snapshot_write = SnapshotWrite(
            self._disk,
            self._directory,
            SnapshotId(index, term),
            image=image,
            configuration=configuration,
            now_ms=now_ms,
        )
        return self._snapshot_write

    def finish_snapshot(self, write: SnapshotWrite) -> bool:
        """Whether there is now a durable snapshot, so that the core may forget what it covers.

        The files that it replaces are removed with the next write.
        """
        invariant(write is self._snapshot_write and write.done, "a snapshot out of order")
        self._snapshot_write = None
        if write.error is not None:
            log.warning("a snapshot of the metadata could not be written: %s", write.error)
            return False
        return self._snapshots.add(write.id)

    def read_snapshot(self) -> Snapshot | None:
        """The newest one for a follower; None where there is none. Reads a file of some megabytes."""
        try:
            return self._snapshots.read_newest()
        except (OSError, StorageError) as error:
            log.warning("the newest snapshot of the metadata cannot be read: %s", error)
            return None

    def close(self) -> None:
        """Everything is durable already."""
        if self._write is None:
            self._entry_log.close()

    def _storage_error(self) -> KafkaError:
        return KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"{self._directory} is offline since an error: {self.offline}; "
            "repair the disk or make room on it, then restart the broker",
        )
