"""The last segment of a log: the one that is appended to.

Its indexes are in memory, and so are the places of its newest batches: reading the tail of a log, which is
what most consumers do, finds its range without touching a file.
"""

from array import array
from bisect import bisect_right
from typing import NamedTuple

from crc32c import crc32c

from tidelog.base.errors import KafkaError
from tidelog.base.ids import NO_TIMESTAMP, Offset, TimestampMs
from tidelog.base.ports import FileSlice
from tidelog.storage.file_names import INDEX, LOG, TIME_INDEX, TXN_INDEX
from tidelog.storage.log_config import LogConfig
from tidelog.storage.log_files import LogFiles
from tidelog.storage.segment.batch_walk import walk
from tidelog.storage.segment.indexes import SegmentIndexes
from tidelog.storage.segment.offset_index import RELATIVE_MAX, CorruptIndex, OffsetIndex
from tidelog.storage.segment.segment import LogRead, Segment
from tidelog.storage.segment.time_index import TimeIndex

RECENT_MAX = 1024
_RECENT_KEPT = 512
_POSITION_MAX = 2**31 - 1


class RollLimits(NamedTuple):
    bytes_max: int
    roll_ms: int
    entries_max: int
    time_entries_max: int

    @classmethod
    def of(cls, config: LogConfig, path: str) -> "RollLimits":
        """`path` spreads rolls by time over partitions: it is the dice, so that a run can be repeated."""
        roll_ms = config.segment_ms
        if config.compact:  # only sealed segments are compacted, so none may stay open for longer than this
            roll_ms = min(roll_ms, config.max_compaction_lag_ms)
        jitter_below = min(config.segment_jitter_ms, roll_ms)
        jitter_ms = crc32c(path.encode()) % jitter_below if jitter_below > 0 else 0
        return cls(
            min(config.segment_bytes, _POSITION_MAX),
            roll_ms - jitter_ms,
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
    )

    def __init__(
        self,
        files: LogFiles,
        base: Offset,
        size: int,
        created_ms: TimestampMs,
        *,
        indexes: SegmentIndexes | None = None,
        newest: tuple[TimestampMs, Offset] | None = None,
    ) -> None:
        """`indexes` where they are known better than in the files; `newest` of its last batches."""
        super().__init__(files, base, size, created_ms)
        self.first_timestamp: TimestampMs | None = None if size else NO_TIMESTAMP
        """Of the first batch, for rolling by time; None until it is asked for."""
        self._indexes = indexes if size else SegmentIndexes(base, files.config.index_interval_bytes)
        self._newest = newest
        # Base offset and position of the newest batches, without a gap between their offsets or after them.
        self._recent_offsets = array("q")
        self._recent_positions = array("q")
        self._recent_next: Offset = base

    def _count_as_warm(self, index_bytes: int = 0) -> None:
        """It does not count: there is one to a partition, and appends need all of it."""

    @property
    def indexes(self) -> SegmentIndexes:
        """Read on the first need: a start with many partitions must not wait for all their indexes."""
        if self._indexes is None:
            interval_bytes = self.files.config.index_interval_bytes
            try:
                self._indexes = SegmentIndexes.load(
                    self._disk, self.path, self.base, self.size, interval_bytes
                )
                if not self._time_index_is_true(self._indexes):
                    raise CorruptIndex("its last entry speaks of no batch")
            except CorruptIndex:
                self._indexes, _ = SegmentIndexes.rebuild(self.file, self.base, self.size, interval_bytes)
                self._indexes.seal()
                self._indexes.write(self._disk, self.path)
            if self._newest is not None and self._newest[0] > self._indexes.newest_timestamp:
                self._indexes.newest_timestamp, self._indexes.newest_offset = self._newest
        return self._indexes

    def _time_index_is_true(self, indexes: SegmentIndexes) -> bool:
        if indexes.newest_timestamp < 0:
            return True
        try:
            found = self.locate(indexes.newest_offset)
        except KafkaError:
            return False
        return found is not None and found[1].max_timestamp == indexes.newest_timestamp

    @property
    def index(self) -> OffsetIndex:
        return self.indexes.offsets

    def time_index(self) -> TimeIndex:
        return self.indexes.times

    def rebuild_indexes(self) -> SegmentIndexes:
        interval_bytes = self.files.config.index_interval_bytes
        self._indexes, _ = SegmentIndexes.rebuild(self.file, self.base, self.size, interval_bytes)
        return self._indexes

    @property
    def newest(self) -> tuple[TimestampMs, Offset]:
        indexes = self.indexes
        return indexes.newest_timestamp, indexes.newest_offset

    def must_roll(
        self,
        size: int,
        newest: TimestampMs,
        last_offset: Offset,
        now_ms: TimestampMs,
        limits: RollLimits,
        *,
        count: int = 1,
    ) -> bool:
        """Would `count` batches of `size` bytes up to `last_offset` not belong here any more?"""
        if last_offset - self.base > RELATIVE_MAX:
            return True
        if not self.size:
            return False
        bytes_max, roll_ms, entries_max, time_entries_max = limits
        if self.size + size > bytes_max:
            return True
        indexes = self._indexes or self.indexes
        entries, time_entries = len(indexes.offsets.relatives), len(indexes.times.timestamps)
        if entries + count > entries_max or time_entries + count > time_entries_max:
            return True
        first = self.first_timestamp
        if first is None:
            first = self._load_first_timestamp()
        waited = newest - first if first >= 0 else now_ms - self.created_ms
        return waited > roll_ms

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
        elif len(offsets) == RECENT_MAX:
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

    def find_end(self) -> Offset:
        """The offset after the last batch; the base where there is none."""
        last = self.index.last
        end = self.base
        for _, header in walk(self.file, last[1] if last else 0, self.size):
            end = header.next_offset
        return end

    def write_indexes(self, *, sync: bool = False) -> None:
        self.indexes.write(self._disk, self.path, sync=sync)

    @property
    def unwritten_index_entries(self) -> int:
        return self._indexes.unwritten if self._indexes is not None else 0

    def complete_indexes(self) -> None:
        """For a clean shutdown: durable, with the last entry that a time index ends with."""
        self.indexes.seal()
        self.write_indexes(sync=True)

    def seal(self) -> Segment:
        """Complete the index files and give the segment its sealed form."""
        self.indexes.seal()
        self.write_indexes()
        sealed = Segment(self.files, self.base, self.size, self.created_ms)
        sealed.adopt(self.release(), self.newest)
        return sealed

    def truncate(self, position: int, offset: Offset) -> None:
        """End the segment at `position`, where the batch with `offset` began, on disk as in memory."""
        indexes = self.indexes
        self.file.truncate(position)
        self.size = position
        del self._recent_offsets[:], self._recent_positions[:]
        self._read_on = (-1, -1, -1)
        indexes.truncate(position, offset)
        last = indexes.offsets.last
        indexes.note_from(self.file, last[1] if last else 0, position)
        if not position:
            self.first_timestamp = NO_TIMESTAMP
        # Durable now: entries of the old batches must not come back under new ones after a crash.
        self.file.sync()
        self.write_indexes(sync=True)


def create_segment(files: LogFiles, base: Offset, now_ms: TimestampMs) -> ActiveSegment:
    """An empty segment at `base`. What a crash left under its names holds nothing of this log."""
    disk, path = files.disk, files.file(base, "")
    for suffix in (INDEX, TIME_INDEX, TXN_INDEX):
        disk.remove(path + suffix)
    file = disk.open(path + LOG, create=True)
    file.truncate(0)
    if files.config.preallocate:
        file.allocate(files.config.segment_bytes)
    segment = ActiveSegment(files, base, 0, now_ms)
    segment.adopt(file, None)
    return segment


def activate(
    segment: Segment,
    indexes: SegmentIndexes | None = None,
    newest: tuple[TimestampMs, Offset] | None = None,
) -> ActiveSegment:
    """The segment as the one that is appended to. `newest` is known of its last batches, if anything is."""
    if isinstance(segment, ActiveSegment):
        return segment
    active = ActiveSegment(
        segment.files, segment.base, segment.size, segment.created_ms, indexes=indexes, newest=newest
    )
    active.adopt(segment.release(), newest)
    return active
