"""The metadata log of a quorum of one: decide, append, sync, apply.

`stage` writes the records of a decision, `Commit.run` syncs them in any thread, `apply` moves the image.
One commit at a time: the caller holds a lock from its decision to `apply`, so that each decision sees all
earlier ones. What is on the disk but was never applied, since the process died, is applied at the next start.
"""

import logging
from collections.abc import Sequence

from tidelog.base.errors import ErrorCode, KafkaError, StorageError
from tidelog.base.ids import Epoch, Offset, TimestampMs
from tidelog.base.invariant import InvariantError, invariant
from tidelog.base.ports import Disk
from tidelog.metadata.image import ClusterImage, ImageDelta, advance
from tidelog.metadata.log_scan import LogScan
from tidelog.metadata.record_batches import encode_batch
from tidelog.metadata.records import Record
from tidelog.metadata.snapshot_files import SnapshotFiles, SnapshotWrite
from tidelog.storage.flush import Flush
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.wire.batch import read_header

DIRECTORY = "__cluster_metadata-0"
BATCH_BYTES_MAX = 32 << 20
"""The records of one decision; a request that asks for more must be split."""
SNAPSHOT_AFTER_RECORDS = 10_000
SNAPSHOT_AFTER_BYTES = 32 << 20

_EPOCH: Epoch = 0  # without an election there is only one term
_FOREVER = 2**63 - 1
_CONFIG = LogConfig(
    segment_bytes=128 << 20,
    segment_ms=_FOREVER,
    delete=False,
    retention_ms=-1,
    max_message_bytes=BATCH_BYTES_MAX,
    file_delete_delay_ms=0,
)

log = logging.getLogger("tidelog.metadata")


class Commit:
    """Records that are written but not yet durable."""

    __slots__ = ("base", "begun", "delta", "done", "flush", "snapshot")

    def __init__(self, base: Offset, flush: Flush, delta: ImageDelta, snapshot: SnapshotWrite | None) -> None:
        self.base = base
        self.flush = flush
        self.delta = delta
        self.snapshot = snapshot
        self.begun = False
        self.done = False

    def run(self) -> None:
        """Wait for the disk. Never raises: `MetadataLog.apply` looks at what came of it."""
        self.begun = True
        self.flush.run()
        if self.snapshot is not None and self.flush.error is None:
            self.snapshot.run()
        self.done = True


class MetadataLog:
    """Its `image` holds exactly what is durable."""

    def __init__(
        self, partition_log: PartitionLog, snapshots: SnapshotFiles, image: ClusterImage, scan: LogScan
    ) -> None:
        self._log = partition_log
        self._snapshots = snapshots
        self._staged: Commit | None = None
        self._records_since_snapshot = scan.count
        self._bytes_since_snapshot = scan.bytes
        self.image = image

    @classmethod
    def open(cls, disk: Disk, directory: str, now_ms: TimestampMs) -> "MetadataLog":
        """Load what `directory` holds, or begin there. StorageError for a log that must not be trusted."""
        disk.make_dirs(directory)
        snapshots = SnapshotFiles(disk, directory)
        since, image = snapshots.load_newest()
        scan = LogScan(disk, directory, since)
        try:
            image = advance(image, scan.records()).after
        except (InvariantError, ValueError) as error:
            raise StorageError(
                f"{scan.where}: a metadata record does not fit those before it: {error}. Restore this folder "
                "from a backup."
            ) from error
        if cut := scan.cut_torn_tail():
            log.warning("after a crash, the metadata log was repaired: %s", cut)
        partition_log = PartitionLog.open(
            disk,
            directory,
            _CONFIG,
            now_ms=now_ms,
            recovery_point=since,
            log_start=None if scan.has_segments else since,
        )
        invariant(partition_log.end == scan.end, "log and scan differ", log=partition_log.end, scan=scan.end)
        opened = cls(partition_log, snapshots, image, scan)
        opened._sync()
        return opened

    @property
    def end(self) -> Offset:
        """The offset that the next record gets."""
        return self._log.end

    @property
    def offline(self) -> OSError | None:
        """Why nothing can be changed any more, if so; the image can still be read."""
        return self._log.offline

    def stage(self, records: Sequence[Record], now_ms: TimestampMs) -> Commit:
        """Write the records of one decision. KafkaError if they cannot be; then none of them holds."""
        if self._staged is not None:
            self._withdraw(self._staged)
        delta = advance(self.image, records)  # first of all: what cannot be applied must not be written
        invariant(not delta.is_empty, "a commit without records")
        batch = encode_batch(records, base_offset=0, now_ms=now_ms)
        if len(batch) > BATCH_BYTES_MAX:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"The change takes {len(batch)} bytes of metadata, one request may take {BATCH_BYTES_MAX}. "
                "Split the request.",
            )
        snapshot = self._begin_snapshot(now_ms)  # before the append: it ends where the new records begin
        header = read_header(batch)
        written = self._log.append(memoryview(batch), [(0, header)], leader_epoch=_EPOCH, now_ms=now_ms)
        flush = self._log.begin_flush()
        if flush is None:
            raise InvariantError("nothing to sync after an append")
        self._records_since_snapshot += len(records)
        self._bytes_since_snapshot += len(batch)
        self._staged = Commit(written.base, flush, delta, snapshot)
        return self._staged

    def apply(self, commit: Commit) -> ImageDelta:
        """After `commit.run`: the records are durable, so they hold. KafkaError if the disk failed."""
        invariant(commit is self._staged and commit.done, "a commit out of order")
        self._staged = None
        self._log.finish_flush(commit.flush)
        self.image = commit.delta.after
        if commit.snapshot is not None:
            self._finish_snapshot(commit.snapshot)
        return commit.delta

    def submit(self, records: Sequence[Record], now_ms: TimestampMs) -> ImageDelta:
        """All three steps at once, for callers that may block: start-up, tests, tools."""
        commit = self.stage(records, now_ms)
        commit.run()
        return self.apply(commit)

    def close(self) -> None:
        try:
            self._log.close(clean=self._staged is None)
        except KafkaError as error:  # what holds is on the disk already; the next start reads it again
            log.error("the metadata log was not closed in order: %s", error.message)

    def _withdraw(self, commit: Commit) -> None:
        """A commit that never ran, since no thread was free or its owner gave up: nobody was told of it."""
        invariant(not commit.begun, "a decision before the last one was applied")
        self._staged = None
        self._log.truncate_to(commit.base)

    def _begin_snapshot(self, now_ms: TimestampMs) -> SnapshotWrite | None:
        """A snapshot of the image as it is now, without the records being staged, when one is due."""
        if (
            self._records_since_snapshot < SNAPSHOT_AFTER_RECORDS
            and self._bytes_since_snapshot < SNAPSHOT_AFTER_BYTES
        ):
            return None
        self._records_since_snapshot = self._bytes_since_snapshot = 0
        self._log.roll(now_ms)  # so that what the snapshot replaces can be removed as whole segments
        return self._snapshots.begin(self.image, self._log.end, now_ms)

    def _finish_snapshot(self, snapshot: SnapshotWrite) -> None:
        keep_from = self._snapshots.finish(snapshot)
        if keep_from is None:
            return
        try:
            self._log.delete_before(keep_from)
            for doomed in self._log.retire(0):
                doomed.run()
        except (OSError, KafkaError) as error:  # the commit itself holds, whatever becomes of old files
            log.warning("an old part of the metadata log could not be removed: %s", error)

    def _sync(self) -> None:
        """What was replayed may only be in the page cache, and from now on others act on it."""
        flush = self._log.begin_flush()
        if flush is not None:
            flush.run()
            self._log.finish_flush(flush)
