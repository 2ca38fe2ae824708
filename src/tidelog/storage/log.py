"""A partition's log: segments in a directory, appended at the end, read anywhere, truncated at both ends.

Everything here runs on one thread, except `Flush.run` and `SegmentDeletion.run`, which touch only what they
captured.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, Offset, ProducerId, TimestampMs
from tidelog.base.ports import Disk
from tidelog.storage import retention
from tidelog.storage.compaction import cleanable
from tidelog.storage.compaction import swap as compaction_swap
from tidelog.storage.compaction.cleanable import CleanableRange
from tidelog.storage.compaction.cleaned_segment import Cleaned
from tidelog.storage.compaction.compaction import Compaction
from tidelog.storage.compaction.groups import Source
from tidelog.storage.compaction.transaction_outcomes import TransactionOutcomes
from tidelog.storage.disk_full import is_disk_full
from tidelog.storage.file_names import LOG
from tidelog.storage.flush import Flush
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_files import LogFiles
from tidelog.storage.log_writer import Appended, Batches, LogWriter
from tidelog.storage.producers.verification import VerificationGuard
from tidelog.storage.recovery import lost_range
from tidelog.storage.recovery.loading import load
from tidelog.storage.recovery.replay import replay
from tidelog.storage.segment import time_lookup
from tidelog.storage.segment.segment import LogRead, Segment
from tidelog.storage.segment.segments import out_of_place
from tidelog.storage.segment.time_lookup import TimestampOffset
from tidelog.storage.segment.warm import WarmSegments
from tidelog.storage.segment_deletion import SegmentDeletion, mark_for_deletion
from tidelog.wire.batch import BatchHeader

__all__ = ["Appended", "Batches", "LogRead", "PartitionLog", "TimestampOffset"]

_INDEX_ENTRIES_PENDING_MAX = 64
"""Written out at a flush from this many on: after a crash the walk to the recovery point stays short."""
_SNAPSHOT_INTERVAL_BYTES = 64 << 20
"""A producer snapshot at least so often, to bound what a start after a crash must replay."""


class PartitionLog(LogWriter):
    __slots__ = ()

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
        warm: WarmSegments | None = None,
    ) -> "PartitionLog":
        """Open the log in `directory`, or start a new one there. `.recovery` says what had to be repaired.

        `clean`: the last owner closed it in order, so only the last few batches are looked at. Otherwise
        every batch from `recovery_point` on is checked (None: nothing is known, so all of them).
        `committed`: the log had all below on stable storage, even where no recovery point says so yet. What
        is missing below it, or was damaged after a clean close, is lost, and not a write that a crash tore.
        `warm` is shared between the logs of a thread, to bound descriptors and memory together.
        """
        files = LogFiles(disk, directory, config, WarmSegments() if warm is None else warm)
        return cls(
            files,
            load(files, now_ms, recovery_point, clean=clean, log_start=log_start, committed=committed),
        )

    def share(self, warm: WarmSegments) -> None:
        """From now on this log counts with the others, on whose thread it is used."""
        warm.take_over(self._files.warm)
        self._files.warm = warm

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
                f"offset {offset} is outside of {self.start} to {log_end} in {self._files.path}",
            )
        if offset >= end:
            return None
        active = self._segments.active
        try:
            if offset >= active.base:
                found = active.read(offset, max_bytes, end if end < log_end else None, min_one)
                if found is not None and found.first_batch_offset >= end:
                    raise out_of_place(active, found)
                return found
            return self._segments.read_sealed(offset, max_bytes, end, min_one)
        except OSError as error:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR, f"cannot read {self._files.path} at offset {offset}: {error}"
            ) from error

    def find_by_time(self, timestamp: TimestampMs) -> TimestampOffset | None:
        """The first record that is as new as `timestamp`."""
        with self._unreadable():
            return time_lookup.find(self.segments, self.start, timestamp)

    def max_timestamp(self) -> TimestampOffset | None:
        """The record with the largest timestamp."""
        with self._unreadable():
            return time_lookup.newest(self.segments, self.start)

    @contextmanager
    def _unreadable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR, f"cannot read {self._files.path}: {error}"
            ) from error

    def epoch_end(self, epoch: Epoch) -> tuple[Epoch, Offset]:
        """(largest epoch at or below `epoch`, where it ended); (-1, -1) where nothing can be said."""
        return self.leader_epochs.end_of(epoch, self.end)

    # Transactions

    def first_unstable(self, high_watermark: Offset) -> Offset | None:
        """Where the oldest transaction begins that is not decided for good; nobody may rely on what follows.

        Decided is not enough: a marker at or above the high watermark may be lost with its leader.
        """
        producers = self.producers
        if producers.first_open is None and not producers.ended:  # as in most logs, at most times
            return None
        producers.forget_ended(high_watermark)
        first = producers.first_unstable(high_watermark)
        return None if first is None else max(first, self.start)

    def aborted_between(self, start: Offset, end: Offset) -> list[tuple[ProducerId, Offset]]:
        """(producer id, first offset) of the aborted transactions with records from `start` up to `end`."""
        with self._unreadable():
            return [(found.producer_id, found.first) for found in self.aborted.between(start, end)]

    def aborted_in(self, found: LogRead, start: Offset, end: Offset) -> list[tuple[ProducerId, Offset]]:
        """Those that a reader of what was found from `start` on, none of it at or above `end`, must know."""
        if self.aborted.is_empty:
            return []
        bases = self._segments.bases
        number = bisect_right(bases, found.first_batch_offset) - 1
        segment, above = self.segments[number], [*bases, end][number + 1]
        with self._unreadable():
            entry = segment.index.at_or_after(found.slice.position + found.slice.length)
        return self.aborted_between(start, min(end, above if entry is None else entry[0] + 1))

    def inherit(self, before: "PartitionLog") -> None:
        """What the files do not tell, from the log that this one takes the place of."""
        self.cleaned_to = before.cleaned_to
        self.verifications = before.verifications  # producers wait under these guards, and write here

    def begin_verification(
        self,
        producer_id: ProducerId,
        epoch: int,
        sequence: int,
        now_ms: TimestampMs,
        *,
        ends_raise_epoch: bool = False,
    ) -> VerificationGuard | None:
        """What a transactional batch needs before it may open a transaction; None: one is open."""
        if self.producers.has_open(producer_id, epoch):
            return None
        return self.verifications.begin(
            producer_id, epoch, sequence, now_ms, ends_raise_epoch=ends_raise_epoch
        )

    def check_verified(self, header: BatchHeader, guard: VerificationGuard | None) -> None:
        """KafkaError where a batch would open a transaction that nobody is known to end."""
        if header.is_transactional and not self.producers.has_open(header.producer_id, header.producer_epoch):
            self.verifications.check(header, guard)

    # Durability

    def begin_flush(self) -> Flush | None:
        """What must be synced so that everything written so far is durable; None if it is already."""
        if self.offline is not None:
            raise self._storage_error()
        if self.recovery_point >= self.end and not self._unsynced:
            return None
        active = self._segments.active
        with self._disk_errors():
            self._write_epochs()  # those that recovery learned from batches which are about to be durable
            if active.unwritten_index_entries >= _INDEX_ENTRIES_PENDING_MAX:
                active.write_indexes()
            if self._bytes_since_snapshot >= _SNAPSHOT_INTERVAL_BYTES:
                self._take_snapshot()
            return Flush(self._files.disk, self.end, self._truncations, active.file, self._unsynced)

    def finish_flush(self, flush: Flush) -> None:
        """Move the recovery point, or go offline: after a failed fsync nobody knows what the disk holds."""
        if flush.error is not None:
            self.sync_failed = True
            self._go_offline(flush.error)
            raise self._storage_error()
        if flush.truncations == self._truncations:
            self._unsynced.mark_synced(flush.mark)
            self.recovery_point = max(self.recovery_point, flush.end)

    def close(self, clean: bool = True) -> None:
        """Clean: complete and sync everything, so that the next start need not look. Else just let go."""
        if clean and self.offline is None:
            with self._disk_errors():
                self._complete()
        for segment in self.segments:
            segment.release()

    def _complete(self) -> None:
        active = self._segments.active
        if self.config.preallocate:
            active.file.truncate(active.size)
        self._write_epochs()
        if self.end != self._complete_at:
            active.complete_indexes()
            snapshot = self._snapshots.take(self.producers)
            if snapshot is not None:
                self._unsynced.add(snapshot, directory=self._files.path)
            self._complete_at = self.end
        flush = self.begin_flush()
        if flush is not None:
            flush.run()
            self.finish_flush(flush)

    # Cutting

    @property
    def truncations(self) -> int:
        """How often its end was cut off. Who copies it must begin anew when this grows: other records may
        have taken the place of what was copied."""
        return self._truncations

    def truncate_to(self, offset: Offset) -> list[SegmentDeletion]:
        """Remove the batch that holds `offset` and all after it; the log then ends with the batch before.

        The caller must write down the lower recovery point before he appends again: batches that take the
        place of flushed ones are not flushed.
        """
        if offset >= self.end:
            with self._disk_errors():  # one who led and wrote nothing has an epoch that begins here
                self.leader_epochs.truncate_from_end(self.end)
                self._write_epochs()
            return []
        if offset < self._segments.first_base:
            return self.truncate_fully_at(offset)
        self._truncations += 1
        with self._disk_errors():
            deletions = self._segments.drop_above(offset, self._segments.active.created_ms)
            self._files.sync()
            active = self._segments.active
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
            with self._disk_errors():
                lost_range.remove(self._files.disk, self._files.path)
            self.lost = None

    def truncate_fully_at(self, offset: Offset) -> list[SegmentDeletion]:
        """Remove everything; the log starts anew at `offset`."""
        self._truncations += 1
        now_ms = self._segments.active.created_ms
        with self._disk_errors():
            deletions = [mark_for_deletion(segment, now_ms) for segment in reversed(self.segments)]
            self._segments.restart(self._new_segment(offset, now_ms))
            self.start = self.end = offset
            self.leader_epochs.clear()
            self._snapshots.clear()
            self._after_truncation()
            return deletions

    def _after_truncation(self) -> None:
        self._complete_at = None
        if self.cleaned_to is not None:
            self.cleaned_to = min(self.cleaned_to, self.end)
        self.start = min(self.start, self.end)
        self.recovery_point = min(self.recovery_point, self.end)
        self.leader_epochs.truncate_from_end(self.end)
        self._write_epochs()
        self.producers = self._snapshots.load(self._segments.first_base, self.end)
        replay(self.segments, self.producers, self.end)
        self.aborted.truncate_from_end(self.end, self._segments.bases)
        self._files.sync()

    def delete_before(self, offset: Offset) -> None:
        """Records below `offset` are no longer served; `retire` removes the segments that this empties."""
        if offset > self.end:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE, f"cannot delete up to {offset}, the log ends at {self.end}"
            )
        if offset > self.start:
            with self._disk_errors():
                self._move_start(offset)

    def retire(self, now_ms: TimestampMs, *, limit: Offset | None = None) -> list[SegmentDeletion]:
        """Take out the segments that retention by time, by size or by log start no longer keeps.

        `limit`: none that reaches above (the high watermark: followers may still need it), or into a
        transaction that is open, of which nobody could read anything yet.
        """
        if self.offline is not None and (not self.is_full or self.copies_under_way):
            return []
        segments = self.segments
        limit = self.end if limit is None else limit
        first_open = self.producers.first_open
        limit = limit if first_open is None else min(limit, first_open)
        count = retention.expired(
            segments, self.config, start=self.start, end=self.end, limit=limit, now_ms=now_ms
        )
        if not count:
            return []
        if self.is_full:  # there is no room for a new one
            count = min(count, len(segments) - 1)
        elif count == len(segments):
            self.roll(now_ms)
        with self._disk_errors():
            deletions = self._segments.drop_oldest(count, now_ms + self.config.file_delete_delay_ms)
            self._unsynced.add(directory=self._files.path)
            self.aborted.keep(self._segments.bases)
            try:
                self._move_start(max(self.start, self._segments.first_base))
            except OSError as error:
                if not is_disk_full(error):
                    raise
                self._go_offline(error)  # but what is removed makes room
            return deletions

    def _move_start(self, start: Offset) -> None:
        self.start = start
        self.leader_epochs.truncate_from_start(start)
        self._write_epochs()
        self._snapshots.keep_between(self._segments.first_base, self.end)

    # Compaction

    def cleanable(self, stable_below: Offset, now_ms: TimestampMs) -> CleanableRange:
        """What waits for compaction, of what lies below `stable_below` and below every open transaction."""
        unstable = self.producers.first_unstable(stable_below)
        return cleanable.measure(
            self.segments,
            self.config,
            start=self.start,
            end=self.end,
            cleaned_to=self.cleaned_to,
            stable_below=stable_below if unstable is None else min(stable_below, unstable),
            now_ms=now_ms,
        )

    def begin_compaction(self, found: CleanableRange, now_ms: TimestampMs, key_bytes_max: int) -> Compaction:
        """What must be known to compact this log's dirty part elsewhere; nothing happens to the log yet."""
        sealed, ends = self._segments.sealed, self._segments.bases[1:]
        sources = [
            Source(segment, segment.base, end, segment.size, segment.path)
            for segment, end in zip(sealed, ends, strict=True)
            if self.start < end <= found.end
        ]
        files = [
            (segment.path + LOG, segment.size)
            for segment, end in zip(self.segments, [*ends, self.end], strict=True)
            if segment.size and end > found.start
        ]
        known = list(self.producers)
        self.aborted.repair()
        return Compaction(
            self._files.disk,
            self.config,
            sources,
            first_dirty=found.start,
            outcomes=TransactionOutcomes(self._files.disk, files),
            producers={number: one.batches[-1].last_offset for number, one in known if one.batches},
            epochs={number: one.epoch for number, one in known if not one.batches},
            truncations=self._truncations,
            key_bytes_max=key_bytes_max,
            now_ms=now_ms,
        )

    def holds(self, sources: Sequence[Source], truncations: int) -> bool:
        """Whether these segments are as they were when a compaction was planned."""
        return truncations == self._truncations and self._run_of(sources) is not None

    def _run_of(self, sources: Sequence[Source]) -> int | None:
        return self._segments.find_run([source.segment for source in sources])

    def finish_compaction(self, cleaned: Cleaned, now_ms: TimestampMs) -> list[SegmentDeletion] | None:
        """Take in a compacted segment. None if the log changed meanwhile: then it is thrown away.

        An OSError before the swap is decided on leaves the log as it was; after that it takes it offline.
        """
        disk, path = self._files.disk, cleaned.sources[0].path
        place = self._run_of(cleaned.sources) if cleaned.truncations == self._truncations else None
        if place is None or self.offline is not None:
            compaction_swap.discard(disk, path)
            return None
        compaction_swap.decide(disk, path)
        with self._disk_errors():
            self._files.sync()
            replaced = [source.segment for source in cleaned.sources]
            created_ms = max(segment.created_ms for segment in replaced)
            remove_at_ms = now_ms + self.config.file_delete_delay_ms
            deletions = [mark_for_deletion(segment, remove_at_ms) for segment in reversed(replaced)]
            self._files.sync()
            compaction_swap.give_final_names(disk, path)
            segment = Segment(self._files, replaced[0].base, cleaned.size, created_ms)
            segment.adopt(None, cleaned.newest)
            self._segments.replace_run(place, len(replaced), segment)
            self.aborted.look_again()
            self._snapshots.drop_between_segments(self._segments.bases)
            return deletions

    def expire_producers(self, now_ms: TimestampMs) -> int:
        self.verifications.expire(now_ms, self.config.producer_id_expiration_ms)
        return self.producers.expire(now_ms, self.config.producer_id_expiration_ms)
