"""A partition's log: segments in a directory, appended at the end, read anywhere, truncated at both ends.

The parts own their state: `writer` appends and rolls, `producer_state` knows sequences and transactions,
`compaction` what was compacted, `health` whether the disk works. Here are the bounds of the log, and what
moves them. Everything runs on one thread, except `Flush.run` and `SegmentDeletion.run`, which touch only what
they captured.
"""

from collections.abc import Callable

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH, Epoch, Offset, TimestampMs
from tidelog.base.ports import Disk
from tidelog.storage import failed_sync, leader_epochs, retention
from tidelog.storage.compaction.log_compaction import LogCompaction
from tidelog.storage.file_names import LEADER_EPOCHS
from tidelog.storage.flush import FilePosition, Flush, Journaled
from tidelog.storage.journal.journal import Journal
from tidelog.storage.leader_epochs import LeaderEpochs
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_files import LogFiles
from tidelog.storage.log_health import LogHealth
from tidelog.storage.log_writer import Appended, Batches, LogWriter
from tidelog.storage.producers.producers import Producers
from tidelog.storage.producers.state import ProducerState
from tidelog.storage.recovery import lost_range
from tidelog.storage.recovery.loading import Loaded, load
from tidelog.storage.recovery.lost_range import LostRange
from tidelog.storage.recovery.report import RecoveryReport
from tidelog.storage.rewriting import rewrite
from tidelog.storage.segment import time_lookup
from tidelog.storage.segment.segment import LogRead, Segment
from tidelog.storage.segment.segments import SegmentList, out_of_place
from tidelog.storage.segment.time_lookup import TimestampOffset
from tidelog.storage.segment.warm import WarmSegments
from tidelog.storage.segment_deletion import SegmentDeletion, mark_for_deletion
from tidelog.storage.shortages import is_shortage

__all__ = ["Appended", "Batches", "LogRead", "PartitionLog", "TimestampOffset"]

_INDEX_ENTRIES_PENDING_MAX = 64
"""Written out at a flush from this many on: after a crash the walk to the recovery point stays short."""


class PartitionLog:
    __slots__ = (
        "__weakref__",
        "_complete_at",
        "_durable_until",
        "append",
        "append_as_follower",
        "compaction",
        "config",
        "end",
        "files",
        "health",
        "journal",
        "leader_epochs",
        "lost",
        "producer_state",
        "recovery",
        "recovery_point",
        "roll",
        "segment_list",
        "start",
        "synced_end",
        "truncations",
        "unsynced",
        "writer",
    )

    def __init__(self, files: LogFiles, loaded: Loaded) -> None:
        self.files = files
        self.config = files.config
        self.start: Offset = loaded.start
        self.end: Offset = loaded.end
        self.recovery_point: Offset = loaded.recovery_point
        """Everything below is on stable storage in the files of this log."""
        self.synced_end: Offset = loaded.recovery_point
        """Everything below is on stable storage, in these files or in the journal: acknowledgements wait for
        this one."""
        self.journal: Journal | None = None
        """Of the log dir, for logs that are served."""
        self._durable_until: FilePosition | None = None
        """Where `synced_end` is in the files, as far as that is known."""
        # Up to here the index files and a producer snapshot are complete, as they are after a clean close.
        self._complete_at: Offset | None = loaded.complete_at
        self.recovery: RecoveryReport = loaded.report
        self.lost: LostRange | None = loaded.lost
        """The range that damage took. Another replica may have it, so this one should not lead."""
        self.truncations = 0
        """How often the end was truncated. A copy of the log must begin anew when this grows: other records
        may have taken the place of those that were copied."""
        self.segment_list: SegmentList = loaded.segments
        self.unsynced = loaded.unsynced
        self.leader_epochs: LeaderEpochs = loaded.epochs
        self.health = LogHealth(files.disk, files.path)
        self.producer_state = ProducerState(
            loaded.producers,
            loaded.snapshots,
            files=files,
            segments=loaded.segments,
            unsynced=loaded.unsynced,
            health=self.health,
        )
        if loaded.complete_at is None:
            self.producer_state.recover_aborted(self.recovery_point)
        self.compaction = LogCompaction(self)
        self.writer = LogWriter(self)
        # The writer's own methods: a call in between would cost each append.
        self.append = self.writer.append
        self.append_as_follower = self.writer.append_as_follower
        self.roll: Callable[[TimestampMs], None] = self.writer.roll

    @classmethod
    def open(
        cls,
        disk: Disk,
        directory: str,
        config: LogConfig,
        *,
        now_ms: TimestampMs,
        recovery_point: Offset | None = None,
        clean: bool = False,
        log_start: Offset | None = None,
        committed: Offset | None = None,
        sync_failed: bool = False,
        warm: WarmSegments | None = None,
    ) -> "PartitionLog":
        """Open the log in `directory`, or start a new one there. `.recovery` says what had to be repaired.

        `clean`: the last owner closed it in order, so only the last few batches are looked at. Otherwise
        every batch from `recovery_point` on is checked (None: nothing is known, so all of them).
        `committed`: the log had all below on stable storage, even where no recovery point says so yet. What
        is missing below it, or was damaged after a clean close, is lost, and not a write that a crash tore.
        `sync_failed`: so what is not known to be synced is written once more; a mark may say so, too.
        `warm` is shared between the logs of a thread, to bound descriptors and memory together.
        """
        files = LogFiles(disk, directory, config, WarmSegments() if warm is None else warm)
        try:
            loaded = load(
                files, now_ms, recovery_point, clean=clean, log_start=log_start, committed=committed
            )
        except OSError:
            failed_sync.mark(disk, directory)
            raise
        log = cls(files, loaded)
        if sync_failed or failed_sync.is_marked(disk, directory):
            log.health.is_in_doubt = True
            rewrite(log.segments, log.recovery_point)
        return log

    def share(self, warm: WarmSegments) -> None:
        """From now on this log counts with the others, on whose thread it is used."""
        warm.take_over(self.files.warm)
        self.files.warm = warm

    def configure(self, config: LogConfig) -> None:
        """New settings hold from the next append on."""
        self.config = self.files.config = config
        self.writer.configure()

    def inherit(self, before: "PartitionLog") -> None:
        """What the files do not tell, from the log that this one takes the place of."""
        self.compaction.cleaned_to = before.compaction.cleaned_to
        # Producers wait under these guards, and write here.
        self.producer_state.verifications = before.producer_state.verifications

    @property
    def directory(self) -> str:
        return self.files.path

    @property
    def name(self) -> str:
        """Of the directory."""
        return self.files.path.rpartition("/")[2]

    @property
    def segments(self) -> list[Segment]:
        """Oldest first; the last one is active."""
        return self.segment_list.all

    @property
    def size_bytes(self) -> int:
        return self.segment_list.size_bytes

    @property
    def producers(self) -> Producers:
        return self.producer_state.producers

    @property
    def offline(self) -> OSError | None:
        return self.health.offline

    @property
    def is_short(self) -> bool:
        return self.health.is_short

    # Reading

    def read(self, offset: Offset, max_bytes: int, *, end: Offset, min_one: bool = True) -> LogRead | None:
        """Whole batches from the one that holds `offset`, of one segment, none of them at or above `end`.

        None where there is nothing to read yet. Of the batches at least the first is given, however large
        (unless `min_one` is off), and no more than `max_bytes` otherwise.
        """
        log_end = self.end
        if not self.start <= offset <= log_end:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset} is outside of {self.start} to {log_end} in {self.files.path}",
            )
        if offset >= end:
            return None
        active = self.segment_list.active
        try:
            if offset >= active.base:
                found = active.read(offset, max_bytes, end if end < log_end else None, min_one)
                if found is not None and found.first_batch_offset >= end:
                    raise out_of_place(active, found)
                return found
            return self.segment_list.read_sealed(offset, max_bytes, end, min_one)
        except OSError as error:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR, f"cannot read {self.files.path} at offset {offset}: {error}"
            ) from error

    def find_by_time(self, timestamp: TimestampMs) -> TimestampOffset | None:
        """The first record that is as new as `timestamp`."""
        with self.health.read_errors():
            return time_lookup.find(self.segments, self.start, timestamp)

    def max_timestamp(self) -> TimestampOffset | None:
        """The record with the largest timestamp."""
        with self.health.read_errors():
            return time_lookup.newest(self.segments, self.start)

    def epoch_end(self, epoch: Epoch) -> tuple[Epoch, Offset]:
        """(largest epoch at or below `epoch`, where it ended); (-1, -1) where nothing can be said."""
        return self.leader_epochs.end_of(epoch, self.end)

    def first_unstable(self, high_watermark: Offset) -> Offset | None:
        """Where the oldest transaction begins that is not decided for good.

        Decided is not enough: a marker at or above the high watermark may be lost with its leader.
        """
        producers = self.producer_state.producers
        if producers.first_open is None and not producers.ended:  # as in most logs, at most times
            return None
        producers.forget_ended(high_watermark)
        first = producers.first_unstable(high_watermark)
        return None if first is None else max(first, self.start)

    # Leader epochs

    def begin_epoch(self, epoch: Epoch) -> None:
        """This broker leads from now on: the next append belongs to `epoch`, whenever it comes."""
        if epoch > self.leader_epochs.latest:
            self.assign_epoch(epoch, self.end)

    def assign_epoch(self, epoch: Epoch, start: Offset) -> None:
        if self.leader_epochs.latest == NO_EPOCH and not self.size_bytes and not self.config.is_replicated:
            # A crash may have taken all that was written: the gap in front of the first batch is its own. Not
            # where other replicas may have the records: they would truncate what an older epoch wrote there.
            start = self.start
        self.leader_epochs.assign(epoch, start)
        with self.health.disk_errors():
            self._write_epochs()

    def _write_epochs(self) -> None:
        """Not synced: the next flush does it before the recovery point passes what the new entry covers."""
        if self.leader_epochs.changed:
            path = f"{self.files.path}/{LEADER_EPOCHS}"
            leader_epochs.write(self.files.disk, path, self.leader_epochs)
            self.unsynced.add(path, directory=self.files.path)

    # Durability

    @property
    def has_unsynced_files(self) -> bool:
        """Something besides the newest batches: where the log starts now, for one."""
        return bool(self.unsynced)

    def begin_flush(self) -> Flush | None:
        """What must be synced so that everything written so far is durable; None if it is already."""
        self.health.check()
        if self.recovery_point >= self.end and not self.unsynced:
            return None
        active = self.segment_list.active
        with self.health.disk_errors():
            self._write_epochs()  # those that recovery learned from batches which are about to be durable
            if active.unwritten_index_entries >= _INDEX_ENTRIES_PENDING_MAX:
                active.write_indexes()
            if self.producer_state.is_snapshot_due:
                self.producer_state.take_snapshot()
            return Flush(
                self.files.disk,
                self.end,
                self.truncations,
                active.file,
                self.unsynced,
                until=(active.base, active.size),
                journal_sequence=0 if self.journal is None else self.journal.next_sequence,
            )

    def finish_flush(self, flush: Flush) -> None:
        """Move the recovery point, or go offline: after a failed fsync the disk may hold anything.

        Without a descriptor to open a file with, no fsync failed: everything stays unsynced, to try again.
        """
        if flush.is_postponed:
            return
        if flush.error is not None:
            self.health.doubt_the_disk()
            self.health.go_offline(flush.error)
            raise self.health.error()
        if flush.truncations == self.truncations:
            self.unsynced.mark_synced(flush.mark)
            self.health.sync_succeeded()
            self.recovery_point = max(self.recovery_point, flush.end)
            self.synced_end = max(self.synced_end, flush.end)
            self._durable_until = max(self._durable_until or flush.until, flush.until)
            if self.journal is not None:
                self.journal.files_synced(self.name, flush.journal_sequence)

    def begin_journaling(self, bytes_max: int) -> Journaled | None:
        """The bytes that are not durable yet, for the journal; None where the files themselves must be
        synced: some are new, or there are more than `bytes_max` of these bytes."""
        active, until = self.segment_list.active, self._durable_until
        if until is None or until[0] != active.base or self.unsynced or self.leader_epochs.changed:
            return None
        size = active.size - until[1]
        if size > bytes_max or self.health.offline is not None or self.producer_state.is_snapshot_due:
            return None
        if active.unwritten_index_entries >= _INDEX_ENTRIES_PENDING_MAX:
            return None
        try:
            data = active.file.read_at(until[1], size)
        except OSError:
            return None
        return Journaled(self.end, self.truncations, until, data) if len(data) == size else None

    def finish_journaling(self, journaled: Journaled) -> None:
        """The journal has them on stable storage."""
        if journaled.truncations == self.truncations:
            base, position = journaled.start
            until = (base, position + len(journaled.data))
            self.synced_end = max(self.synced_end, journaled.end)
            self._durable_until = max(self._durable_until or until, until)

    def leave_journal(self) -> None:
        """Sync the files and void what the journal has of this log: a replay must not touch them any more.

        Before anything but an append changes a file of which the journal may hold a part.
        """
        journal = self.journal
        if journal is None:
            return
        if not journal.mentions(self.name):
            with self.health.disk_errors():
                journal.write_voids()  # an attempt before this one may have failed on a full disk
            return
        flush = self.begin_flush()
        with self.health.disk_errors():
            if flush is not None:
                flush.run()
                if flush.is_postponed and flush.error is not None:
                    raise flush.error
                self.finish_flush(flush)
            journal.void(self.name)
            journal.write_voids()

    def close(self, clean: bool = True) -> None:
        """Clean: complete and sync everything, so that the next start need not look. Else just let go."""
        if clean and self.offline is None:
            with self.health.disk_errors():
                self._complete()
        for segment in self.segments:
            segment.release()

    def _complete(self) -> None:
        active = self.segment_list.active
        if self.config.preallocate:
            active.file.truncate(active.size)
        self._write_epochs()
        if self.end != self._complete_at:
            active.complete_indexes()
            self.producer_state.complete()
            self._complete_at = self.end
        flush = self.begin_flush()
        if flush is not None:
            flush.run()
            self.finish_flush(flush)

    # Truncating, at both ends

    def truncate_to(self, offset: Offset) -> list[SegmentDeletion]:
        """Remove the batch that holds `offset` and all after it; the log then ends with the batch before.

        The caller must write down the lower recovery point before it appends again: batches that take the
        place of flushed ones are not flushed.
        """
        if offset >= self.end:
            with self.health.disk_errors():  # a leader that wrote nothing has an epoch that begins here
                self.leader_epochs.truncate_from_end(self.end)
                self._write_epochs()
            return []
        if offset < self.segment_list.first_base:
            return self.truncate_fully_at(offset)
        self.leave_journal()
        self.truncations += 1
        with self.health.disk_errors():
            deletions = self.segment_list.drop_above(offset, self.segment_list.active.created_ms)
            self.files.sync()
            active = self.segment_list.active
            if found := active.locate(offset):
                active.truncate(found[0], found[1].base_offset)
            self.end = max(active.find_end(), min(self.start, offset))
            self._after_truncation()
            return deletions

    def truncate_at_lost(self) -> list[SegmentDeletion]:
        """End before what damage took, so that the rest can be copied from another replica."""
        return [] if self.lost is None else self.truncate_to(self.lost.first)

    def forget_lost(self) -> None:
        """The log has all that it ever had, or counts as one that is behind."""
        if self.lost is not None:
            with self.health.disk_errors():
                lost_range.remove(self.files.disk, self.files.path)
            self.lost = None

    def truncate_fully_at(self, offset: Offset) -> list[SegmentDeletion]:
        """Remove everything; the log starts anew at `offset`."""
        self.leave_journal()
        self.truncations += 1
        now_ms = self.segment_list.active.created_ms
        with self.health.disk_errors():
            deletions = [mark_for_deletion(segment, now_ms) for segment in reversed(self.segments)]
            self.segment_list.restart(self.writer.new_segment(offset, now_ms))
            self.start = self.end = offset
            self.leader_epochs.clear()
            self.producer_state.clear()
            self._after_truncation()
            return deletions

    def _after_truncation(self) -> None:
        self._complete_at = None
        self.compaction.truncated(self.end)
        self.start = min(self.start, self.end)
        self.recovery_point = min(self.recovery_point, self.end)
        self.synced_end = min(self.synced_end, self.end)
        self._durable_until = None
        self.leader_epochs.truncate_from_end(self.end)
        self._write_epochs()
        self.producer_state.truncate(self.end)
        self.files.sync()

    def delete_before(self, offset: Offset) -> None:
        """Records below `offset` are no longer served; `retire` removes the segments that this empties."""
        if offset > self.end:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE, f"cannot delete up to {offset}, the log ends at {self.end}"
            )
        if offset > self.start:
            with self.health.disk_errors():
                self._move_start(offset)

    def retire(
        self, now_ms: TimestampMs, *, limit: Offset | None = None, by_start_only: bool = False
    ) -> list[SegmentDeletion]:
        """Take out the segments that retention by time, by size or by log start no longer keeps.

        `limit`: none that reaches above (the high watermark: followers may still need it), or into a
        transaction that is open, of which no consumer could read anything yet.
        `by_start_only`: none that retention by time or by size would take.
        """
        if self.offline is not None and (not self.health.is_short or self.compaction.copies_under_way):
            return []
        segments = self.segments
        limit = self.end if limit is None else limit
        first_open = self.producers.first_open
        limit = limit if first_open is None else min(limit, first_open)
        count = retention.expired(
            segments,
            self.config,
            start=self.start,
            end=self.end,
            limit=limit,
            now_ms=now_ms,
            by_start_only=by_start_only,
        )
        if not count:
            return []
        if self.health.is_short:  # there is no room for a new one
            count = min(count, len(segments) - 1)
        elif count == len(segments):
            self.roll(now_ms)
        with self.health.disk_errors():
            deletions = self.segment_list.drop_oldest(count, now_ms + self.config.file_delete_delay_ms)
            self.unsynced.add(directory=self.files.path)
            self.producer_state.aborted.keep(self.segment_list.bases)
            try:
                self._move_start(max(self.start, self.segment_list.first_base))
            except OSError as error:
                if not is_shortage(error):
                    raise
                self.health.go_offline(error)  # but what is removed makes room
            return deletions

    def _move_start(self, start: Offset) -> None:
        self.start = start
        self.leader_epochs.truncate_from_start(start)
        self._write_epochs()
        self.producer_state.keep_from_start(self.end)
