"""What a log knows of the producers that wrote it: sequences, open transactions, aborted ones.

Kept up to date by each append, saved in snapshots beside the segments, and replayed from the batches behind
the newest snapshot when the log is opened or truncated.
"""

from bisect import bisect_right

from tidelog.base.ids import Offset, ProducerId, TimestampMs
from tidelog.storage.flush import Unsynced
from tidelog.storage.log_files import LogFiles
from tidelog.storage.log_health import LogHealth
from tidelog.storage.producers.aborted_batches import AbortedBatches
from tidelog.storage.producers.aborted_transactions import AbortedTransactions
from tidelog.storage.producers.producers import Duplicate, Producers
from tidelog.storage.producers.replay import aborted_of, replay
from tidelog.storage.producers.reused_sequences import check_reuse
from tidelog.storage.producers.snapshot_files import ProducerSnapshotFiles
from tidelog.storage.producers.verification import VerificationGuard, Verifications
from tidelog.storage.segment.segment import LogRead
from tidelog.storage.segment.segments import SegmentList
from tidelog.wire.batch import CONTROL, TRANSACTIONAL, BatchHeader
from tidelog.wire.record import read_control

_SNAPSHOT_INTERVAL_BYTES = 64 << 20
"""A snapshot at least so often, to bound what a start after a crash must replay."""


class ProducerState:
    __slots__ = (
        "_files",
        "_health",
        "_segments",
        "_snapshots",
        "_unsynced",
        "aborted",
        "bytes_since_snapshot",
        "producers",
        "verifications",
    )

    def __init__(
        self,
        producers: Producers,
        snapshots: ProducerSnapshotFiles,
        *,
        files: LogFiles,
        segments: SegmentList,
        unsynced: Unsynced,
        health: LogHealth,
    ) -> None:
        self.producers = producers
        self._snapshots = snapshots
        self._files = files
        self._segments = segments
        self._unsynced = unsynced
        self._health = health
        batches = AbortedBatches(files, segments, snapshots)
        self.aborted = AbortedTransactions(files, batches.replay, batches.has)
        self.verifications = Verifications()
        self.bytes_since_snapshot = 0

    # Appends

    def find_retry(self, header: BatchHeader) -> Duplicate | None:
        """Where a client's batch was written before; None: it is new. KafkaError: it is neither."""
        duplicate = self.producers.check(header)
        if duplicate is not None:
            self.check_reuse(header, duplicate)
        return duplicate

    def check_reuse(self, header: BatchHeader, duplicate: Duplicate) -> None:
        if duplicate.is_over:
            with self._health.disk_errors():
                original = self._segments.locate(duplicate.base)
            check_reuse(header, duplicate, original)

    def note(self, records: memoryview, position: int, header: BatchHeader, base: Offset) -> None:
        """The batch at `position` of the records was appended at offset `base`."""
        is_control = header.attributes & CONTROL
        control = read_control(records[position : position + header.size]) if is_control else None
        if control is not None and control.is_marker:
            self.verifications.ended(header.producer_id, header.producer_epoch)
        elif header.attributes & TRANSACTIONAL:
            self.verifications.opened(header.producer_id, header.producer_epoch)
        ended = self.producers.note(header, base, control)
        if ended is not None and ended.aborted:
            with self._health.disk_errors():
                path = self.aborted.add(self._segments.active.base, aborted_of(ended))
                self._unsynced.add(path, directory=self._files.path)

    def begin_verification(
        self,
        producer_id: ProducerId,
        epoch: int,
        sequence: int,
        now_ms: TimestampMs,
        *,
        ends_raise_epoch: bool = False,
    ) -> VerificationGuard | None:
        """The guard that a transactional batch needs to open a transaction; None: one is open."""
        if self.producers.has_open(producer_id, epoch):
            return None
        return self.verifications.begin(
            producer_id, epoch, sequence, now_ms, ends_raise_epoch=ends_raise_epoch
        )

    def check_verified(self, header: BatchHeader, guard: VerificationGuard | None) -> None:
        """KafkaError where a batch would open a transaction that no coordinator is known to end."""
        if header.is_transactional and not self.producers.has_open(header.producer_id, header.producer_epoch):
            self.verifications.check(header, guard)

    # Readers of transactions

    def aborted_between(self, start: Offset, end: Offset) -> list[tuple[ProducerId, Offset]]:
        """(producer id, first offset) of the aborted transactions with records from `start` up to `end`."""
        with self._health.read_errors():
            return [(aborted.producer_id, aborted.first) for aborted in self.aborted.between(start, end)]

    def aborted_in(self, read: LogRead, start: Offset, end: Offset) -> list[tuple[ProducerId, Offset]]:
        """The aborted transactions that a reader of this range must know.

        It was read from `start` on, and none of it is at or above `end`.
        """
        with self._health.read_errors():
            if self.aborted.is_empty:
                return []
        bases = self._segments.bases
        number = bisect_right(bases, read.first_batch_offset) - 1
        segment, above = self._segments.all[number], [*bases, end][number + 1]
        with self._health.read_errors():
            entry = segment.index.at_or_after(read.slice.position + read.slice.length)
        return self.aborted_between(start, min(end, above if entry is None else entry[0] + 1))

    # Snapshots

    @property
    def is_snapshot_due(self) -> bool:
        return self.bytes_since_snapshot >= _SNAPSHOT_INTERVAL_BYTES

    def take_snapshot(self) -> str | None:
        """Returns the file that was written; None: it was there already."""
        path = self._snapshots.take(self.producers)
        self._snapshots.drop_between_segments(self._segments.bases)
        self.bytes_since_snapshot = 0
        return path

    def complete(self) -> None:
        """For a clean close: a snapshot at the end of the log, to be synced."""
        path = self._snapshots.take(self.producers)
        if path is not None:
            self._unsynced.add(path, directory=self._files.path)

    # The log lost a part

    def truncate(self, end: Offset) -> None:
        """The log ends at `end` now."""
        self.producers = self._snapshots.load(self._segments.first_base, end)
        replay(self._segments.all, self.producers, end)
        self.aborted.truncate_from_end(end, self._segments.bases)

    def clear(self) -> None:
        self._snapshots.clear()

    def keep_from_start(self, end: Offset) -> None:
        """Old segments went away, or the log starts later."""
        self._snapshots.keep_between(self._segments.first_base, end)

    def replaced(self) -> None:
        """Compaction put new segments in the place of old ones."""
        self.aborted.look_again()
        self._snapshots.drop_between_segments(self._segments.bases)

    def expire(self, now_ms: TimestampMs) -> int:
        expiration_ms = self._files.config.producer_id_expiration_ms
        self.verifications.expire(now_ms, expiration_ms)
        return self.producers.expire(now_ms, expiration_ms)

    # The index of aborted transactions

    def recover_aborted(self, synced: Offset) -> None:
        """After a crash: of markers from `synced` on, the batches say what is so, and not the index files."""
        aborted = [aborted_of(ended) for ended in self.producers.ended if ended.aborted]
        self.aborted.after_crash(synced, self._segments.bases, aborted)
