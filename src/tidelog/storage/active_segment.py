"""The last segment of a log: the one that is appended to.

Its indexes are in memory, and so are the places of its newest batches: reading the tail of a log, which is
what most consumers do, finds its range without touching a file.
"""

from array import array
from bisect import bisect_right
from typing import NamedTuple

from tidelog.base.ids import NO_TIMESTAMP, Offset, TimestampMs
from tidelog.base.ports import Disk, File, FileSlice
from tidelog.storage.file_names import LOG
from tidelog.storage.log_config import LogConfig
from tidelog.storage.offset_index import RELATIVE_MAX, CorruptIndex, OffsetIndex
from tidelog.storage.segment import LogRead, Segment
from tidelog.storage.segment_indexes import SegmentIndexes
from tidelog.storage.time_index import TimeIndex
from tidelog.storage.warm_segments import WarmSegments

_RECENT_MAX = 1024
_RECENT_KEPT = 512
_POSITION_MAX = 2**31 - 1


class RollLimits(NamedTuple):
    bytes_max: int
    roll_ms: int
    entries_max: int
    time_entries_max: int

    @classmethod
    def of(cls, config: LogConfig) -> "RollLimits":
        return cls(
            min(config.segment_bytes, _POSITION_MAX),
            config.segment_ms,
            config.index_entries_max,
            config.time_index_entries_max,
        )


class ActiveSegment(Segment):
    __slots__ = (
        "_indexes",
        "_recent_next",
        "_recent_offsets",
        "_recent_positions",
        "first_timestamp",
        "roll_jitter_ms",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        base: Offset,
        size: int,
        *,
        warm: WarmSegments,
        created_ms: TimestampMs,
        interval_bytes: int,
        indexes: SegmentIndexes | None = None,
        newest: tuple[TimestampMs, Offset] | None = None,
    ) -> None:
        super().__init__(
            disk, directory, base, size, warm=warm, created_ms=created_ms, interval_bytes=interval_bytes
        )
        self.first_timestamp: TimestampMs | None = None if size else NO_TIMESTAMP
        """Of the first batch, for rolling by time; None until it is asked for."""
        self.roll_jitter_ms = 0
        self._indexes = indexes if size else SegmentIndexes(base, interval_bytes)
        self._newest = newest
        # Base offset and position of the newest batches, without a gap between their offsets or after them.
        self._recent_offsets = array("q")
        self._recent_positions = array("q")
        self._recent_next: Offset = base

    @property
    def file(self) -> File:
        if self._file is None:
            self._file = self._disk.open(self.path + LOG)
        return self._file

    @property
    def indexes(self) -> SegmentIndexes:
        if self._indexes is None:
            newest = self.newest
            try:
                indexes = SegmentIndexes.load(
                    self._disk, self.path, self.base, self.size, self.interval_bytes
                )
            except CorruptIndex:
                indexes = SegmentIndexes(self.base, self.interval_bytes)
                indexes.note_from(self.file, 0, self.size)
            if newest[0] > indexes.newest_timestamp:
                indexes.newest_timestamp, indexes.newest_offset = newest
            self._indexes = indexes
        return self._indexes

    @property
    def index(self) -> OffsetIndex:
        return self.indexes.offsets

    def time_index(self) -> TimeIndex:
        return self.indexes.times

    def rebuild_indexes(self) -> SegmentIndexes:
        indexes = SegmentIndexes(self.base, self.interval_bytes)
        indexes.note_from(self.file, 0, self.size)
        self._indexes = indexes
        return indexes

    @property
    def newest(self) -> tuple[TimestampMs, Offset]:
        if self._indexes is not None:
            return self._indexes.newest_timestamp, self._indexes.newest_offset
        return super().newest

    def cool(self) -> None:
        """It stays warm: appends need all of it."""

    def must_roll(
        self, size: int, newest: TimestampMs, last_offset: Offset, now_ms: TimestampMs, limits: RollLimits
    ) -> bool:
        """Would an append of `size` bytes up to `last_offset` not belong here any more?"""
        if last_offset - self.base > RELATIVE_MAX:
            return True
        if not self.size:
            return False
        bytes_max, roll_ms, entries_max, time_entries_max = limits
        if self.size + size > bytes_max:
            return True
        indexes = self._indexes or self.indexes
        if len(indexes.offsets) >= entries_max or len(indexes.times) >= time_entries_max:
            return True
        first = self.first_timestamp
        if first is None:
            first = self._load_first_timestamp()
        waited = newest - first if first >= 0 else now_ms - self.created_ms
        return waited > roll_ms - self.roll_jitter_ms

    def _load_first_timestamp(self) -> TimestampMs:
        found = self.locate(self.base)
        self.first_timestamp = found[1].max_timestamp if found else NO_TIMESTAMP
        return self.first_timestamp

    def note(self, base_offset: Offset, last_offset: Offset, size: int, timestamp: TimestampMs) -> None:
        """A batch has been written at the end of the file."""
        position = self.size
        offsets, positions = self._recent_offsets, self._recent_positions
        if base_offset != self._recent_next:  # a compacted log is being copied: the walk copes with gaps
            del offsets[:], positions[:]
        elif len(offsets) == _RECENT_MAX:
            del offsets[:-_RECENT_KEPT], positions[:-_RECENT_KEPT]
        self._recent_next = last_offset + 1
        offsets.append(base_offset)
        positions.append(position)
        if not position:
            self.first_timestamp = timestamp
        (self._indexes or self.indexes).note(last_offset, position, size, timestamp)
        self.size = position + size

    def read(self, offset: Offset, max_bytes: int, end: Offset | None, min_one: bool) -> LogRead | None:
        offsets = self._recent_offsets
        if not offsets or offset < offsets[0]:
            return super().read(offset, max_bytes, end, min_one)
        positions = self._recent_positions
        number = bisect_right(offsets, offset) - 1
        position = positions[number]
        stop = self.size
        if end is not None and end < self._recent_next:
            stop = positions[bisect_right(offsets, end) - 1]
        if stop - position > max_bytes:
            fits = bisect_right(positions, position + max_bytes) - 1
            if fits == number and min_one:
                fits += 1
            stop = positions[fits] if fits < len(positions) else self.size
        if stop <= position:
            return None
        return LogRead(FileSlice(self._file or self.file, position, stop - position), offsets[number])

    def write_indexes(self, *, sync: bool = False) -> None:
        self.indexes.write(self._disk, self.path, sync=sync)

    @property
    def unwritten_index_entries(self) -> int:
        return self._indexes.unwritten if self._indexes is not None else 0

    def complete_indexes(self) -> None:
        """For a clean shutdown: durable, with the last entry that a time index ends with."""
        self.indexes.seal()
        self.write_indexes(sync=True)

    def release(self) -> None:
        """Let go of everything at the end."""
        self._file = None

    def seal(self) -> Segment:
        """Complete the index files and give the segment its sealed form."""
        self.indexes.seal()
        self.write_indexes()
        sealed = Segment(
            self._disk,
            self.path.rpartition("/")[0],
            self.base,
            self.size,
            warm=self._warm,
            created_ms=self.created_ms,
            interval_bytes=self.interval_bytes,
        )
        sealed.adopt(self._file, self.newest)
        return sealed

    def cut(self, position: int, offset: Offset) -> None:
        """End the segment at `position`, where the batch with `offset` began, on disk as in memory."""
        indexes = self.indexes
        self.file.truncate(position)
        self.size = position
        del self._recent_offsets[:], self._recent_positions[:]
        self._read_on = (-1, -1, -1)
        indexes.cut(position, offset)
        last = indexes.offsets.last
        indexes.note_from(self.file, last[1] if last else 0, position)
        if not position:
            self.first_timestamp = NO_TIMESTAMP
        # Durable now: entries of the old batches must not come back under new ones after a crash.
        self.file.sync()
        self.write_indexes(sync=True)
