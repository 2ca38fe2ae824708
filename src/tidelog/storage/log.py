"""A partition's log: segments in a folder, appended at the end, read anywhere, cut at both ends.

One writer, no locks: everything here runs on one thread, except `Flush.run` and `Doomed.run`, which touch
only what they captured. A disk error takes the log offline; nothing is retried and nothing is pretended.
"""

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_TIMESTAMP, Epoch, Offset, TimestampMs
from tidelog.base.invariant import invariant
from tidelog.base.ports import Disk
from tidelog.storage import leader_epochs, retention, time_lookup
from tidelog.storage.active_segment import ActiveSegment, RollLimits
from tidelog.storage.doomed import Doomed, doom
from tidelog.storage.file_names import INDEX, LEADER_EPOCHS, LOG, TIME_INDEX
from tidelog.storage.flush import Flush
from tidelog.storage.leader_epochs import LeaderEpochs
from tidelog.storage.loading import Loaded, load
from tidelog.storage.log_config import LogConfig
from tidelog.storage.new_segment import activate, create_segment, roll_jitter_ms
from tidelog.storage.offset_index import RELATIVE_MAX
from tidelog.storage.producers import EndedTransaction, Producers
from tidelog.storage.recovery_report import RecoveryReport
from tidelog.storage.replay import replay
from tidelog.storage.segment import LogRead, Segment
from tidelog.storage.time_lookup import TimeFound
from tidelog.storage.warm_segments import WarmSegments
from tidelog.wire.batch import CONTROL, LOG_APPEND_TIME, OVERHEAD, BatchHeader, patch_base
from tidelog.wire.record import read_control

Batches = list[tuple[int, BatchHeader]]
"""(position in the records, header) of each batch, one behind the other without a gap."""

_INDEX_ENTRIES_PENDING_MAX = 64
"""Written out at a flush from this many on: after a crash the walk to the recovery point stays short."""
_SNAPSHOT_INTERVAL_BYTES = 64 << 20
"""A producer snapshot at least so often, to bound what a start after a crash must replay."""


class Appended(NamedTuple):
    base: Offset
    last: Offset
    """Of the last record, inclusive."""
    append_time_ms: TimestampMs
    """-1 where records keep the time of their creation."""
    duplicate: bool = False
    """A retry: these are the offsets of the first time, and nothing was written."""


class PartitionLog:
    __slots__ = (
        "_active",
        "_bases",
        "_bytes_since_snapshot",
        "_directory",
        "_disk",
        "_roll_limits",
        "_sealed",
        "_snapshots",
        "_truncations",
        "_unsynced",
        "_warm",
        "config",
        "end",
        "ended_transactions",
        "leader_epochs",
        "offline",
        "producers",
        "recovery",
        "recovery_point",
        "start",
    )

    def __init__(
        self, disk: Disk, directory: str, config: LogConfig, warm: WarmSegments, loaded: Loaded
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._warm = warm
        self._sealed: list[Segment] = loaded.sealed
        self._active: ActiveSegment = loaded.active
        self._bases = [segment.base for segment in self._sealed]
        self._snapshots = loaded.snapshots
        self._truncations = 0
        self._unsynced = loaded.unsynced
        self._bytes_since_snapshot = 0
        self.start: Offset = loaded.start
        self.end: Offset = loaded.end
        self.recovery_point: Offset = loaded.recovery_point
        """Everything below is on stable storage."""
        self.leader_epochs: LeaderEpochs = loaded.epochs
        self.producers: Producers = loaded.producers
        self.recovery: RecoveryReport = loaded.report
        self.offline: OSError | None = None
        self.ended_transactions: list[EndedTransaction] = []
        """Those whose marker came in since this was last emptied, for the transaction index."""
        self.configure(config)

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
        warm: WarmSegments | None = None,
    ) -> "PartitionLog":
        """Open the log in `directory`, or start a new one there. `.recovery` says what had to be repaired.

        `clean`: the last owner closed it in order, so only the last few batches are looked at. Otherwise
        every batch from `recovery_point` on is checked (None: nothing is known, so all of them).
        `warm` is shared between the logs of a process, to bound descriptors and memory together.
        """
        warm = warm or WarmSegments()
        loaded = load(
            disk,
            directory,
            config,
            warm,
            now_ms=now_ms,
            recovery_point=recovery_point,
            clean=clean,
            log_start=log_start,
        )
        return cls(disk, directory, config, warm, loaded)

    def configure(self, config: LogConfig) -> None:
        """New settings hold from the next append on."""
        self.config = config
        self._roll_limits = RollLimits.of(config)
        self._active.interval_bytes = config.index_interval_bytes
        self._active.roll_jitter_ms = roll_jitter_ms(config, self._active.path)

    @property
    def segments(self) -> list[Segment]:
        """Oldest first; the last one is active."""
        return [*self._sealed, self._active]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._sealed) + self._active.size

    @property
    def directory(self) -> str:
        return self._directory

    # Appending

    def append(
        self, records: memoryview, batches: Batches, *, leader_epoch: Epoch, now_ms: TimestampMs
    ) -> Appended:
        """As leader: give the batches the next offsets, in place, and write them. They have been admitted."""
        if self.offline is not None:
            raise self._storage_error()
        producers = self.producers
        header = batches[0][1]
        if header.producer_id >= 0:
            if header.attributes & CONTROL:
                self._check_marker(records, header)
            duplicate = producers.check(header)
            if duplicate is not None:
                return Appended(duplicate.base, duplicate.last, NO_TIMESTAMP, True)
        base = self.end
        last = base - 1
        newest = NO_TIMESTAMP
        for position, header in batches:
            patch_base(records, position, last + 1, leader_epoch)
            last += header.last_offset_delta + 1
            newest = max(newest, header.max_timestamp)
        self._room_for(len(records), newest, base, last, now_ms)
        if leader_epoch != self.leader_epochs.latest:
            self._assign_epoch(leader_epoch, base)
        self._write(records)
        offset = base
        for position, header in batches:
            self._note(records, position, header, offset)
            offset += header.last_offset_delta + 1
        self.end = producers.end = last + 1
        append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else NO_TIMESTAMP
        return Appended(base, last, append_time)

    def append_as_follower(self, records: memoryview, batches: Batches, *, now_ms: TimestampMs) -> None:
        """Write batches that the leader numbered; gaps are kept. The caller has checked their CRCs."""
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
        for position, header in batches:
            size = OVERHEAD + header.length
            self._room_for(size, header.max_timestamp, header.base_offset, header.last_offset, now_ms)
            if header.leader_epoch != self.leader_epochs.latest:
                self._assign_epoch(header.leader_epoch, header.base_offset)
            self._write(records[position : position + size])
            self._note(records, position, header, header.base_offset)
            self.end = self.producers.end = header.next_offset

    def _room_for(
        self, size: int, newest: TimestampMs, base: Offset, last: Offset, now_ms: TimestampMs
    ) -> None:
        if self._active.must_roll(size, newest, last, now_ms, self._roll_limits):
            self._roll_at(base, now_ms)
            invariant(
                last - self._active.base <= RELATIVE_MAX,
                "append too wide for a segment",
                base=base,
                last=last,
            )

    def _write(self, records: memoryview) -> None:
        active = self._active
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

    def _note(self, records: memoryview, position: int, header: BatchHeader, base: Offset) -> None:
        size = OVERHEAD + header.length
        self._active.note(base, base + header.last_offset_delta, size, header.max_timestamp)
        if header.producer_id >= 0:
            control = (
                read_control(records[position : position + size]) if header.attributes & CONTROL else None
            )
            ended = self.producers.note(header, base, control)
            if ended is not None:
                self.ended_transactions.append(ended)

    def _check_marker(self, records: memoryview, header: BatchHeader) -> None:
        control = read_control(records[: header.size])
        if control is not None:
            self.producers.check_marker(header, control)

    def _assign_epoch(self, epoch: Epoch, start: Offset) -> None:
        self.leader_epochs.assign(epoch, start)
        with self._disk_errors():
            self._write_epochs()

    def _write_epochs(self) -> None:
        """Not synced: the next flush does it before the recovery point passes what the new entry covers."""
        if self.leader_epochs.changed:
            path = f"{self._directory}/{LEADER_EPOCHS}"
            leader_epochs.write(self._disk, path, self.leader_epochs)
            self._unsynced.add(path, directory=self._directory)

    # Segments

    def roll(self, now_ms: TimestampMs) -> None:
        """Seal the active segment and begin the next; nothing happens while it is empty."""
        if self._active.size:
            self._roll_at(self.end, now_ms)

    def _roll_at(self, base: Offset, now_ms: TimestampMs) -> None:
        active = self._active
        with self._disk_errors():
            if not active.size:  # the first offset is too far away for it
                doom(self._disk, active, now_ms).run()
                self._active = self._new_segment(base, now_ms)
                return
            if self.config.preallocate:
                active.file.truncate(active.size)
            sealed = active.seal()
            self._snapshots.take(self.producers)
            self._active = self._new_segment(base, now_ms)
            self._sealed.append(sealed)
            self._bases.append(sealed.base)
            self._snapshots.drop_between_segments([*self._bases, base])
            self._bytes_since_snapshot = 0
            self._unsynced.add(*(sealed.path + suffix for suffix in (LOG, INDEX, TIME_INDEX)))

    def _new_segment(self, base: Offset, now_ms: TimestampMs) -> ActiveSegment:
        segment = create_segment(self._disk, self._directory, base, self.config, self._warm, now_ms)
        self._unsynced.add(segment.path + LOG, directory=self._directory)
        return segment

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
                f"offset {offset} is outside of {self.start} to {log_end} in {self._directory}",
            )
        if offset >= end:
            return None
        active = self._active
        try:
            if offset >= active.base:
                return active.read(offset, max_bytes, end if end < log_end else None, min_one)
            return self._read_sealed(offset, max_bytes, end, min_one)
        except OSError as error:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR, f"cannot read {self._directory} at offset {offset}: {error}"
            ) from error

    def _read_sealed(self, offset: Offset, max_bytes: int, end: Offset, min_one: bool) -> LogRead | None:
        segments = self.segments
        for number in range(max(0, bisect_right(self._bases, offset) - 1), len(segments)):
            segment = segments[number]
            if segment.base >= end:
                break
            above = segments[number + 1].base if number + 1 < len(segments) else self.end
            found = segment.read(max(offset, segment.base), max_bytes, end if end < above else None, min_one)
            if found is not None or segment.locate(offset) is not None:
                return found
        return None

    def find_by_time(self, timestamp: TimestampMs) -> TimeFound | None:
        """The first record that is as new as `timestamp`."""
        return time_lookup.find(self.segments, self.start, timestamp)

    def max_timestamp(self) -> TimeFound | None:
        """The record with the largest timestamp."""
        return time_lookup.newest(self.segments, self.start)

    def epoch_end(self, epoch: Epoch) -> tuple[Epoch, Offset]:
        """(largest epoch at or below `epoch`, where it ended); (-1, -1) where nothing can be said."""
        return self.leader_epochs.end_of(epoch, self.end)

    # Durability

    def begin_flush(self) -> Flush | None:
        """What must be synced so that everything written so far is durable; None if it is already."""
        if self.offline is not None:
            raise self._storage_error()
        if self.recovery_point >= self.end and not self._unsynced:
            return None
        active = self._active
        with self._disk_errors():
            if active.unwritten_index_entries >= _INDEX_ENTRIES_PENDING_MAX:
                active.write_indexes()
            if self._bytes_since_snapshot >= _SNAPSHOT_INTERVAL_BYTES:
                self._snapshots.take(self.producers)
                self._snapshots.drop_between_segments([*self._bases, active.base])
                self._bytes_since_snapshot = 0
            return Flush(self._disk, self.end, self._truncations, active.file, self._unsynced)

    def finish_flush(self, flush: Flush) -> None:
        """Move the recovery point, or go offline: after a failed fsync nobody knows what the disk holds."""
        if flush.error is not None:
            self._go_offline(flush.error)
            raise self._storage_error()
        if flush.truncations == self._truncations:
            self._unsynced.settle(flush.mark)
            self.recovery_point = max(self.recovery_point, flush.end)

    def close(self, clean: bool = True) -> None:
        """Clean: complete and sync everything, so that the next start need not look. Otherwise just let go."""
        if clean and self.offline is None:
            with self._disk_errors():
                self._complete()
        self._active.release()
        for segment in self._sealed:
            self._warm.forget(segment)
            segment.cool()

    def _complete(self) -> None:
        active = self._active
        if self.config.preallocate:
            active.file.truncate(active.size)
        if self.recovery_point >= self.end and not self._unsynced:
            return
        if active.size:
            active.complete_indexes()
        file = self._snapshots.take(self.producers) if self.end > 0 else None
        if file is not None:
            file.sync()
            self._unsynced.add(directory=self._directory)
        flush = Flush(self._disk, self.end, self._truncations, active.file, self._unsynced)
        flush.run()
        self.finish_flush(flush)

    # Cutting

    def truncate_to(self, offset: Offset) -> list[Doomed]:
        """Remove the batch that holds `offset` and all after it. The log then ends at `offset` or below."""
        if offset >= self.end:
            return []
        if offset < self.segments[0].base:
            return self.truncate_fully_at(offset)
        self._truncations += 1
        now_ms = self._active.created_ms
        with self._disk_errors():
            doomed = []
            segments = self.segments
            while segments[-1].base > offset:  # the newest first: what is left is always a log
                doomed.append(doom(self._disk, segments.pop(), now_ms))
            self._disk.sync_dir(self._directory)
            kept = segments.pop()
            self._sealed = segments
            self._bases = [segment.base for segment in segments]
            self._active = active = activate(kept, self._disk, self._directory, self.config, self._warm)
            found = active.locate(offset)
            self.end = min(offset, found[1].base_offset) if found else offset
            if found:
                active.cut(found[0], found[1].base_offset)
            self._after_cut()
            return doomed

    def truncate_fully_at(self, offset: Offset) -> list[Doomed]:
        """Remove everything; the log starts anew at `offset`."""
        self._truncations += 1
        now_ms = self._active.created_ms
        with self._disk_errors():
            doomed = [doom(self._disk, segment, now_ms) for segment in reversed(self.segments)]
            self._disk.sync_dir(self._directory)
            self._sealed, self._bases = [], []
            self._active = self._new_segment(offset, now_ms)
            self.start = self.end = offset
            self._after_cut()
            return doomed

    def _after_cut(self) -> None:
        self.start = min(self.start, self.end)
        self.recovery_point = min(self.recovery_point, self.end)
        self.leader_epochs.cut_end(self.end)
        self._write_epochs()
        self.producers = self._snapshots.load(self.start, self.end)
        replay(self.segments, self.producers, self.end)
        self._disk.sync_dir(self._directory)

    def delete_before(self, offset: Offset) -> None:
        """Records below `offset` are no longer served; `retire` removes the segments that this empties."""
        if offset > self.end:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE, f"cannot delete up to {offset}, the log ends at {self.end}"
            )
        if offset > self.start:
            with self._disk_errors():
                self._move_start(offset)

    def retire(self, now_ms: TimestampMs, *, limit: Offset | None = None) -> list[Doomed]:
        """Take out the segments that retention by time, by size or by log start no longer keeps.

        `limit`: none that reaches above (the high watermark: followers may still need it).
        """
        if self.offline is not None:
            return []
        segments = self.segments
        limit = self.end if limit is None else limit
        count = retention.expired(
            segments, self.config, start=self.start, end=self.end, limit=limit, now_ms=now_ms
        )
        if not count:
            return []
        if count == len(segments):
            self.roll(now_ms)
        with self._disk_errors():
            delay = self.config.file_delete_delay_ms
            doomed = [doom(self._disk, segment, now_ms + delay) for segment in self._sealed[:count]]
            for segment in self._sealed[:count]:
                self._warm.forget(segment)
            del self._sealed[:count], self._bases[:count]
            self._move_start(max(self.start, self.segments[0].base))
            self._unsynced.add(directory=self._directory)
            return doomed

    def _move_start(self, start: Offset) -> None:
        self.start = start
        self.recovery_point = max(self.recovery_point, min(start, self.end))
        self.leader_epochs.cut_start(start)
        self._write_epochs()
        self._snapshots.keep_between(self.segments[0].base, self.end)

    def expire_producers(self, now_ms: TimestampMs) -> int:
        return self.producers.expire(now_ms, self.config.producer_id_expiration_ms)

    # Errors

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._go_offline(error)
            raise self._storage_error() from error

    def _go_offline(self, error: OSError) -> None:
        if self.offline is None:
            self.offline = error

    def _storage_error(self) -> KafkaError:
        return KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"{self._directory} is offline since a disk error: {self.offline}; "
            "repair the disk or make room on it, then restart the broker",
        )
