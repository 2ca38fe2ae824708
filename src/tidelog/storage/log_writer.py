"""The writing half of a partition's log: appends, rolls, and what a disk error does to them.

One writer, no locks. A disk error takes the log offline; nothing is retried and nothing is pretended. A log
that is offline for want of room can still be read, and is opened anew when there is room again.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH, NO_TIMESTAMP, Epoch, Offset, TimestampMs
from tidelog.base.invariant import invariant
from tidelog.storage import leader_epochs
from tidelog.storage.disk_full import is_disk_full
from tidelog.storage.file_names import INDEX, LEADER_EPOCHS, LOG, TIME_INDEX
from tidelog.storage.leader_epochs import LeaderEpochs
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_files import LogFiles
from tidelog.storage.producers.aborted_transactions import AbortedTransactions
from tidelog.storage.producers.producers import Duplicate, Producers
from tidelog.storage.producers.reused_sequences import check_reuse
from tidelog.storage.producers.verification import Verifications
from tidelog.storage.recovery.loading import Loaded
from tidelog.storage.recovery.lost_range import LostRange
from tidelog.storage.recovery.replay import aborted_of, replay_aborted
from tidelog.storage.recovery.report import RecoveryReport
from tidelog.storage.segment.active import ActiveSegment, RollLimits, create_segment
from tidelog.storage.segment.offset_index import RELATIVE_MAX
from tidelog.storage.segment.segment import Segment
from tidelog.storage.segment.transaction_index import Aborted
from tidelog.storage.segment_deletion import mark_for_deletion
from tidelog.wire.batch import (
    CONTROL,
    LOG_APPEND_TIME,
    OVERHEAD,
    TRANSACTIONAL,
    BatchHeader,
    patch_front,
)
from tidelog.wire.record import read_control

log = logging.getLogger("tidelog.storage")

Batches = list[tuple[int, BatchHeader]]
"""(position in the records, header) of each batch, one behind the other without a gap."""


class Appended(msgspec.Struct, frozen=True, gc=False):
    base: Offset
    last: Offset
    """Of the last record, inclusive."""
    append_time_ms: TimestampMs
    """-1 where records keep the time of their creation."""
    duplicate: bool = False
    """A retry: these are the offsets of the first time, and nothing was written."""


class LogWriter:
    __slots__ = (
        "_bytes_since_snapshot",
        "_complete_at",
        "_files",
        "_roll_limits",
        "_segments",
        "_snapshots",
        "_truncations",
        "_unsynced",
        "aborted",
        "cleaned_to",
        "config",
        "copies_under_way",
        "end",
        "has_rolled",
        "leader_epochs",
        "lost",
        "offline",
        "producers",
        "recovery",
        "recovery_point",
        "start",
        "sync_failed",
        "verifications",
    )

    def __init__(self, files: LogFiles, loaded: Loaded) -> None:
        self._files = files
        self.config = files.config
        self._segments = loaded.segments
        self._snapshots = loaded.snapshots
        self._unsynced = loaded.unsynced
        self._truncations = 0
        # Up to here the index files and a producer snapshot are complete, as they are after a clean close.
        self._complete_at: Offset | None = loaded.complete_at
        self._bytes_since_snapshot = 0
        self._roll_limits = RollLimits.of(files.config, files.path)
        self.start: Offset = loaded.start
        self.end: Offset = loaded.end
        self.recovery_point: Offset = loaded.recovery_point
        """Everything below is on stable storage."""
        self.leader_epochs: LeaderEpochs = loaded.epochs
        self.producers: Producers = loaded.producers
        self.recovery: RecoveryReport = loaded.report
        self.lost: LostRange | None = loaded.lost
        """What damage took. Another replica may have it, so this one should not lead."""
        self.offline: OSError | None = None
        self.sync_failed = False
        """Nobody knows then what the disk holds above the recovery point."""
        self.has_rolled = False
        """A segment was sealed since this was last taken back: now is the time to sync it, once for good."""
        self.cleaned_to: Offset | None = None
        """Compaction has seen everything below; None where that is not known."""
        self.copies_under_way = 0
        """Compaction waits for them: a copy that has a value must not miss the tombstone that deletes it."""
        self.aborted = AbortedTransactions(files, self._tell_aborted, self._has_aborted)
        self.verifications = Verifications()
        if loaded.complete_at is None:
            told = [aborted_of(ended) for ended in self.producers.ended if ended.aborted]
            self.aborted.after_crash(self.recovery_point, self._segments.bases, told)

    def configure(self, config: LogConfig) -> None:
        """New settings hold from the next append on."""
        self.config = self._files.config = config
        self._roll_limits = RollLimits.of(config, self._files.path)

    @property
    def directory(self) -> str:
        return self._files.path

    @property
    def segments(self) -> list[Segment]:
        """Oldest first; the last one is active."""
        return self._segments.all

    @property
    def has_unsynced_files(self) -> bool:
        """Something besides the newest batches: where the log starts now, for one."""
        return bool(self._unsynced)

    @property
    def size_bytes(self) -> int:
        return self._segments.size_bytes

    def append(
        self, records: memoryview, batches: Batches, *, leader_epoch: Epoch, now_ms: TimestampMs
    ) -> Appended:
        """As leader: give the batches the next offsets, in place, and write them. They have been admitted."""
        if self.offline is not None:
            raise self._storage_error()
        producers = self.producers
        header = batches[0][1]
        if header.producer_id >= 0:
            duplicate = producers.check(header)
            if duplicate is not None:
                self._check_reuse(header, duplicate)
                return Appended(duplicate.base, duplicate.last, NO_TIMESTAMP, True)
            if header.attributes & CONTROL and (control := read_control(records)) is not None:
                producers.check_marker(header, control)
        base = end = self.end
        newest = NO_TIMESTAMP
        for position, header in batches:
            patch_front(records, position, end, header.length, leader_epoch)
            end += header.last_offset_delta + 1
            newest = max(newest, header.max_timestamp)
        active = self._segments.active
        if self._must_roll(len(records), newest, end - 1, now_ms):
            active = self._next_segment(base, end - 1, now_ms)
        if leader_epoch != self.leader_epochs.latest:
            self._assign_epoch(leader_epoch, base)
        self._write(active, records)
        offset = base
        for position, header in batches:
            last = offset + header.last_offset_delta
            active.note(offset, last, OVERHEAD + header.length, header.max_timestamp)
            if header.producer_id >= 0:
                if header.attributes & (TRANSACTIONAL | CONTROL):
                    self._note_producer(records, position, header, offset)
                else:
                    producers.note(header, offset)
            offset = last + 1
        self.end = producers.end = end
        append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else NO_TIMESTAMP
        return Appended(base, end - 1, append_time)

    def find_retry(self, header: BatchHeader) -> Duplicate | None:
        """Where a batch of a client was written before; None: it is a new one. KafkaError: it is neither."""
        duplicate = self.producers.check(header)
        if duplicate is not None:
            self._check_reuse(header, duplicate)
        return duplicate

    def _check_reuse(self, header: BatchHeader, duplicate: Duplicate) -> None:
        if duplicate.is_over:
            with self._disk_errors():
                written = self._segments.locate(duplicate.base)
            check_reuse(header, duplicate, written)

    def append_as_follower(self, records: memoryview, batches: Batches, *, now_ms: TimestampMs) -> None:
        """Write batches that the leader numbered; gaps are kept. The caller has checked their CRCs.

        They fill `records`.
        """
        if self.offline is not None:
            raise self._storage_error()
        expected = self.end
        for _, header in batches:
            if header.base_offset < expected or header.last_offset_delta < 0:
                raise KafkaError(
                    ErrorCode.CORRUPT_MESSAGE,
                    f"the leader sent offset {header.base_offset} where {expected} or more is due",
                )
            expected = header.next_offset
        is_written = self._write_together(records, batches, expected - 1, now_ms)
        for position, header in batches:
            base, size = header.base_offset, OVERHEAD + header.length
            active, last = self._segments.active, header.last_offset
            if not is_written:
                if self._must_roll(size, header.max_timestamp, last, now_ms):
                    active = self._next_segment(base, last, now_ms)
                if header.leader_epoch != self.leader_epochs.latest:
                    # The first one begins with the log, not behind the gap that it may have in front.
                    is_first = self.leader_epochs.latest == NO_EPOCH
                    self._assign_epoch(header.leader_epoch, self.end if is_first else base)
                self._write(active, records[position : position + size])
            active.note(base, last, size, header.max_timestamp)
            if header.producer_id >= 0:
                self._note_producer(records, position, header, base)
            self.end = self.producers.end = header.next_offset

    def _write_together(
        self, records: memoryview, batches: Batches, last: Offset, now_ms: TimestampMs
    ) -> bool:
        """Several batches with one write, as they mostly can be: False where a segment or an epoch begins."""
        count, active = len(batches), self._segments.active
        if count < 2 or not active.size:
            return False
        newest = max(header.max_timestamp for _, header in batches)
        epochs = {header.leader_epoch for _, header in batches}
        if epochs != {self.leader_epochs.latest}:
            return False
        if self._must_roll(len(records), newest, last, now_ms, count):
            return False
        self._write(active, records)
        return True

    def _must_roll(
        self, size: int, newest: TimestampMs, last: Offset, now_ms: TimestampMs, count: int = 1
    ) -> bool:
        try:
            return self._segments.active.must_roll(size, newest, last, now_ms, self._roll_limits, count=count)
        except OSError as error:  # it may have to read when the segment began
            self._go_offline(error)
            raise self._storage_error() from error

    def _next_segment(self, base: Offset, last: Offset, now_ms: TimestampMs) -> ActiveSegment:
        self._roll_at(base, now_ms)
        active = self._segments.active
        invariant(last - active.base <= RELATIVE_MAX, "too wide for a segment", base=base, last=last)
        return active

    def _write(self, active: ActiveSegment, records: memoryview) -> None:
        try:
            active.file.write_at(active.size, [records])
        except OSError as error:
            self._go_offline(error)
            try:
                active.file.truncate(active.size)
            except OSError:
                pass  # the next start cuts what was written in part
            raise self._storage_error() from error
        self._bytes_since_snapshot += len(records)

    def _note_producer(self, records: memoryview, position: int, header: BatchHeader, base: Offset) -> None:
        is_control = header.attributes & CONTROL
        control = read_control(records[position : position + header.size]) if is_control else None
        if control is not None and control.is_marker:
            self.verifications.ended(header.producer_id, header.producer_epoch)
        elif header.attributes & TRANSACTIONAL:
            self.verifications.opened(header.producer_id, header.producer_epoch)
        ended = self.producers.note(header, base, control)
        if ended is not None and ended.aborted:
            with self._disk_errors():
                path = self.aborted.add(self._segments.active.base, aborted_of(ended))
                self._unsynced.add(path, directory=self._files.path)

    def _tell_aborted(self, base: Offset) -> list[Aborted]:
        """The index of a segment cannot be right: learn from the batches."""
        segments = self._segments.all
        producers = self._snapshots.at_or_below(base, segments[0].base)
        return replay_aborted(segments, producers, base)

    def _has_aborted(self, told: Aborted) -> bool:
        """By the batches at both ends, which compaction may have taken away."""
        if self.config.compact:
            return True
        try:
            marker, first = self._segments.locate(told.last), self._segments.locate(told.first)
        except KafkaError:
            return True  # a damaged batch says nothing of the index
        ends = marker is not None and marker.is_control and marker.producer_id == told.producer_id
        if not ends or told.first < self._segments.first_base:
            return ends
        return (
            first is not None
            and not first.is_control
            and first.base_offset == told.first
            and first.producer_id == told.producer_id
        )

    def begin_epoch(self, epoch: Epoch) -> None:
        """This broker leads from now on: what is appended next belongs to `epoch`, whenever it comes."""
        if epoch > self.leader_epochs.latest:
            self._assign_epoch(epoch, self.end)

    def _assign_epoch(self, epoch: Epoch, start: Offset) -> None:
        self.leader_epochs.assign(epoch, start)
        with self._disk_errors():
            self._write_epochs()

    def _write_epochs(self) -> None:
        """Not synced: the next flush does it before the recovery point passes what the new entry covers."""
        if self.leader_epochs.changed:
            path = f"{self._files.path}/{LEADER_EPOCHS}"
            leader_epochs.write(self._files.disk, path, self.leader_epochs)
            self._unsynced.add(path, directory=self._files.path)

    def roll(self, now_ms: TimestampMs) -> None:
        """Seal the active segment and begin the next; nothing happens while it is empty."""
        if self._segments.active.size:
            self._roll_at(self.end, now_ms)

    def _roll_at(self, base: Offset, now_ms: TimestampMs) -> None:
        active = self._segments.active
        with self._disk_errors():
            if not active.size:  # the first offset is too far away for it
                mark_for_deletion(active, now_ms).run()
                self._segments.active = self._new_segment(base, now_ms)
                return
            if self.config.preallocate:
                active.file.truncate(active.size)
            sealed = active.seal()
            self._take_snapshot()
            self._segments.push(sealed, self._new_segment(base, now_ms))
            self.has_rolled = True
            self._unsynced.add(*(sealed.path + suffix for suffix in (LOG, INDEX, TIME_INDEX)))

    def _new_segment(self, base: Offset, now_ms: TimestampMs) -> ActiveSegment:
        segment = create_segment(self._files, base, now_ms)
        self._unsynced.add(segment.path + LOG, directory=self._files.path)
        return segment

    def _take_snapshot(self) -> None:
        self._snapshots.take(self.producers)
        self._snapshots.drop_between_segments(self._segments.bases)
        self._bytes_since_snapshot = 0

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._go_offline(error)
            raise self._storage_error() from error

    def _go_offline(self, error: OSError) -> None:
        if self.offline is not None:
            return
        self.offline = error
        until = "there is room on it" if self.is_full else "it is repaired and the broker restarted"
        log.error("%s is offline after an error of its disk, until %s: %s", self._files.path, until, error)

    @property
    def is_full(self) -> bool:
        """Offline, but for want of room: what it has is there, and it will go on."""
        return self.offline is not None and is_disk_full(self.offline)

    def _storage_error(self) -> KafkaError:
        what = "make room on it, and the log goes on"
        if not self.is_full:
            what = "repair it, then restart the broker"
        return KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"{self._files.path} is offline since an error of its disk: {self.offline}; {what}",
        )
