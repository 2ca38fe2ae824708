"""Writes a log: appends at its end, and rolls to a new segment. One writer, no locks."""

from typing import TYPE_CHECKING

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH, NO_TIMESTAMP, Epoch, Offset, TimestampMs
from tidelog.base.invariant import invariant
from tidelog.base.weak import weak
from tidelog.storage.file_names import INDEX, LOG, TIME_INDEX
from tidelog.storage.segment.active import ActiveSegment, RollLimits, create_segment
from tidelog.storage.segment.offset_index import RELATIVE_MAX
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

if TYPE_CHECKING:
    from tidelog.storage.log import PartitionLog

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
    __slots__ = ("_epochs", "_health", "_log", "_roll_limits", "_segments", "_state", "has_rolled")

    def __init__(self, log: "PartitionLog") -> None:
        self._log = weak(log)
        self._segments = log.segment_list
        self._state = log.producer_state
        self._epochs = log.leader_epochs
        self._health = log.health
        self._roll_limits = RollLimits.of(log.config, log.files.path)
        self.has_rolled = False
        """A segment was sealed since this was last reset: now is the time to sync it, once for good."""

    def configure(self) -> None:
        self._roll_limits = RollLimits.of(self._log.config, self._log.files.path)

    # As leader

    def append(
        self, records: memoryview, batches: Batches, *, leader_epoch: Epoch, now_ms: TimestampMs
    ) -> Appended:
        """Give the batches the next offsets, in place, and write them. They have been admitted."""
        log, state = self._log, self._state
        if self._health.offline is not None:
            raise self._health.error()
        producers = state.producers
        header = batches[0][1]
        if header.producer_id >= 0:
            duplicate = producers.check(header)
            if duplicate is not None:
                state.check_reuse(header, duplicate)
                return Appended(duplicate.base, duplicate.last, NO_TIMESTAMP, True)
            if header.attributes & CONTROL and (control := read_control(records)) is not None:
                producers.check_marker(header, control)
        base = end = log.end
        newest = NO_TIMESTAMP
        for position, header in batches:
            patch_front(records, position, end, header.length, leader_epoch)
            end += header.last_offset_delta + 1
            newest = max(newest, header.max_timestamp)
        active = self._segments.active
        try:
            must_roll = active.must_roll(len(records), newest, end - 1, now_ms, self._roll_limits)
        except OSError as error:  # it may have to read when the segment began
            raise self._health.failed(error) from error
        if must_roll:
            active = self._next_segment(base, end - 1, now_ms)
        if leader_epoch != self._epochs.latest:
            log.assign_epoch(leader_epoch, base)
        self._write(active, records)
        offset = base
        for position, header in batches:
            last = offset + header.last_offset_delta
            active.note(offset, last, OVERHEAD + header.length, header.max_timestamp)
            if header.producer_id >= 0:
                if header.attributes & (TRANSACTIONAL | CONTROL):
                    state.note(records, position, header, offset)
                else:
                    producers.note(header, offset)
            offset = last + 1
        log.end = producers.end = end
        append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else NO_TIMESTAMP
        return Appended(base, end - 1, append_time)

    # As follower

    def append_as_follower(self, records: memoryview, batches: Batches, *, now_ms: TimestampMs) -> None:
        """Write batches that the leader numbered; gaps are kept. The caller has checked their CRCs.

        They fill `records`.
        """
        log, epochs = self._log, self._epochs
        self._health.check()
        expected = log.end
        for _, header in batches:
            if header.base_offset < expected or header.last_offset_delta < 0:
                raise KafkaError(
                    ErrorCode.CORRUPT_MESSAGE,
                    f"the leader sent offset {header.base_offset}; expected {expected} or more",
                )
            expected = header.next_offset
        is_written = self._write_together(records, batches, expected - 1, now_ms)
        for position, header in batches:
            base, size = header.base_offset, OVERHEAD + header.length
            active, last = self._segments.active, header.last_offset
            if not is_written:
                if self._must_roll(size, header.max_timestamp, last, now_ms):
                    active = self._next_segment(base, last, now_ms)
                if header.leader_epoch != epochs.latest:
                    # The first one begins with the log, not behind the gap that it may have in front.
                    is_first = epochs.latest == NO_EPOCH
                    log.assign_epoch(header.leader_epoch, log.end if is_first else base)
                self._write(active, records[position : position + size])
            active.note(base, last, size, header.max_timestamp)
            if header.producer_id >= 0:
                self._state.note(records, position, header, base)
            log.end = self._state.producers.end = header.next_offset

    def _write_together(
        self, records: memoryview, batches: Batches, last: Offset, now_ms: TimestampMs
    ) -> bool:
        """Several batches with one write, as they mostly can be: False where a segment or an epoch begins."""
        count, active = len(batches), self._segments.active
        if count < 2 or not active.size:
            return False
        newest = max(header.max_timestamp for _, header in batches)
        epochs = {header.leader_epoch for _, header in batches}
        if epochs != {self._epochs.latest}:
            return False
        if self._must_roll(len(records), newest, last, now_ms, count):
            return False
        self._write(active, records)
        return True

    # Segments

    def _must_roll(
        self, size: int, newest: TimestampMs, last: Offset, now_ms: TimestampMs, count: int = 1
    ) -> bool:
        try:
            return self._segments.active.must_roll(size, newest, last, now_ms, self._roll_limits, count=count)
        except OSError as error:
            raise self._health.failed(error) from error

    def _next_segment(self, base: Offset, last: Offset, now_ms: TimestampMs) -> ActiveSegment:
        self._roll_at(base, now_ms)
        active = self._segments.active
        invariant(last - active.base <= RELATIVE_MAX, "too wide for a segment", base=base, last=last)
        return active

    def _write(self, active: ActiveSegment, records: memoryview) -> None:
        try:
            active.file.write_at(active.size, [records])
        except OSError as error:
            refusal = self._health.failed(error)
            try:
                active.file.truncate(active.size)
            except OSError:
                pass  # the next start truncates what was written in part
            raise refusal from error
        self._state.bytes_since_snapshot += len(records)

    def roll(self, now_ms: TimestampMs) -> None:
        """Seal the active segment and begin the next; nothing happens while it is empty."""
        if self._segments.active.size:
            self._roll_at(self._log.end, now_ms)

    def _roll_at(self, base: Offset, now_ms: TimestampMs) -> None:
        log, active = self._log, self._segments.active
        with self._health.disk_errors():
            if not active.size:  # the first offset is too far away for it
                mark_for_deletion(active, now_ms).run()
                self._segments.active = self.new_segment(base, now_ms)
                return
            if log.config.preallocate:
                active.file.truncate(active.size)
            sealed = active.seal()
            self._state.take_snapshot()
            self._segments.push(sealed, self.new_segment(base, now_ms))
            self.has_rolled = True
            log.unsynced.add(*(sealed.path + suffix for suffix in (LOG, INDEX, TIME_INDEX)))

    def new_segment(self, base: Offset, now_ms: TimestampMs) -> ActiveSegment:
        log = self._log
        segment = create_segment(log.files, base, now_ms)
        log.unsynced.add(segment.path + LOG, directory=log.files.path)
        return segment
