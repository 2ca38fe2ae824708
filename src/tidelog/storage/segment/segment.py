"""One segment of a log: a `.log` file of record batches with its two indexes, as it is when sealed.

It holds next to nothing until it is read. An index entry is checked against the batch it points to before
it is used; where they differ, the indexes are built anew from the batches.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tidelog.base.errors import KafkaError
from tidelog.base.ids import NO_TIMESTAMP, Offset, TimestampMs
from tidelog.base.ports import File, FileSlice, read_file
from tidelog.storage.file_names import INDEX, LOG, TIME_INDEX
from tidelog.storage.log_files import LogFiles
from tidelog.storage.segment.batch_walk import header_at, walk
from tidelog.storage.segment.indexes import SegmentIndexes
from tidelog.storage.segment.offset_index import ENTRY_BYTES, CorruptIndex, OffsetIndex
from tidelog.storage.segment.time_index import ENTRY as TIME_ENTRY
from tidelog.storage.segment.time_index import TimeIndex
from tidelog.wire.batch import HEADER, BatchHeader


class LogRead(NamedTuple):
    slice: FileSlice
    first_batch_offset: Offset


class Segment:
    __slots__ = (
        "_disk",
        "_file",
        "_index",
        "_newest",
        "_read_on",
        "base",
        "created_ms",
        "files",
        "path",
        "size",
    )

    def __init__(self, files: LogFiles, base: Offset, size: int, created_ms: TimestampMs) -> None:
        self.base = base
        self.size = size
        self.path = files.file(base, "")
        """Without suffix: add one of file_names."""
        self.created_ms = created_ms
        """When it was made or loaded: stands in for the timestamps of batches that have none."""
        self.files = files
        self._disk = files.disk
        self._file: File | None = None
        self._index: OffsetIndex | None = None
        self._newest: tuple[TimestampMs, Offset] | None = None
        # Where a reader went on: offsets above [0] and up to [1] are in the batch at position [2].
        self._read_on = (-1, -1, -1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path}, {self.size} bytes)"

    @property
    def file(self) -> File:
        if self._file is None:
            self._file = self._disk.open(self.path + LOG)
            self._count_as_warm()
        return self._file

    def _count_as_warm(self, index_bytes: int = 0) -> None:
        self.files.warm.opened(self, index_bytes)

    def adopt(self, file: File | None, newest: tuple[TimestampMs, Offset] | None) -> None:
        """Take over what another form of the segment knew."""
        self._newest = newest
        self._file = file
        if file is not None:
            self._count_as_warm()

    def release(self) -> File | None:
        """Release everything, for good; the open file goes to the caller."""
        self.files.warm.forget(self)
        file, self._file, self._index = self._file, None, None
        return file

    def cool(self) -> None:
        """Let go of the file and the index until they are needed; a slice being sent keeps the file open."""
        self._file = None
        self._index = None

    @property
    def index(self) -> OffsetIndex:
        if self._index is None:
            try:
                raw = read_file(self._disk, self.path + INDEX)
                if raw is None:
                    raise CorruptIndex("it is missing")
                self._index = OffsetIndex.load(self.base, raw, self.size)
            except CorruptIndex:
                self._index = self.rebuild_indexes().offsets
            self._count_as_warm(len(self._index) * ENTRY_BYTES)
        return self._index

    def time_index(self) -> TimeIndex:
        try:
            raw = read_file(self._disk, self.path + TIME_INDEX)
            if raw is None:
                raise CorruptIndex("it is missing")
            return TimeIndex.load(self.base, raw)
        except CorruptIndex:
            return self.rebuild_indexes().times

    def rebuild_indexes(self) -> SegmentIndexes:
        """From the batches, which tell the truth, to the files."""
        indexes, whole = SegmentIndexes.rebuild(
            self.file, self.base, self.size, self.files.config.index_interval_bytes
        )
        if whole:  # otherwise there is damage, and what the files say of the batches behind it may be right
            indexes.seal()
            indexes.write(self._disk, self.path)
        self._newest = indexes.newest_timestamp, indexes.newest_offset
        return indexes

    @property
    def newest(self) -> tuple[TimestampMs, Offset]:
        """(largest timestamp, last offset of the batch that holds it)."""
        if self._newest is None:
            try:
                newest = self._last_time_entry()
                if self.size and not (self._holds(*newest) and self._ends_before(newest[0])):
                    raise CorruptIndex("its last entry does not speak of the newest batch")
                self._newest = newest
            except (CorruptIndex, FileNotFoundError):
                self.rebuild_indexes()
        return self._newest or (NO_TIMESTAMP, self.base)

    def _last_time_entry(self) -> tuple[TimestampMs, Offset]:
        """What the file of the time index ends with."""
        path = self.path + TIME_INDEX
        size = self._disk.size(path)
        file = self._disk.open(path)
        try:
            raw = file.read_at(max(0, size - TIME_ENTRY.size), TIME_ENTRY.size)
        finally:
            file.close()
        if size % TIME_ENTRY.size or (not size and self.size):
            raise CorruptIndex(f"{size} bytes")
        return TimeIndex.read_last(self.base, raw)

    def _holds(self, timestamp: TimestampMs, last_offset: Offset) -> bool:
        """Whether the batch that a time index speaks of is there; retention deletes by what it says."""
        try:
            found = self.locate(last_offset)
        except KafkaError:
            return False
        if found is None:
            return False
        header = found[1]
        return header.last_offset == last_offset and header.max_timestamp == timestamp

    def _ends_before(self, timestamp: TimestampMs) -> bool:
        """Whether none of the last batches is newer, as they are where the end of the index is missing."""
        last_indexed = self._checked(lambda: self.index.at_or_before(self.size))
        try:
            return all(
                header.max_timestamp <= timestamp for _, header in walk(self.file, last_indexed, self.size)
            )
        except KafkaError:
            return False

    @property
    def retention_timestamp(self) -> TimestampMs:
        newest = self.newest[0]
        return newest if newest >= 0 else self.created_ms

    def locate(self, offset: Offset) -> tuple[int, BatchHeader] | None:
        """(position, header) of the first batch that ends at or above `offset`."""
        for position, header in self.batches_from(offset):
            return position, header
        return None

    def batches_from(self, offset: Offset) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of every batch that ends at or above `offset`."""
        for position, header in walk(self.file, self._position_before(offset), self.size):
            if header.base_offset + header.last_offset_delta >= offset:
                yield position, header

    def _position_before(self, offset: Offset) -> int:
        """The position of a batch at or before the one that holds `offset`."""
        after, up_to, position = self._read_on
        if after < offset <= up_to:
            return position
        return self._checked(lambda: self.index.at_or_below(offset))

    def _checked(self, lookup: Callable[[], tuple[Offset, int] | None]) -> int:
        """The position of the entry that `lookup` finds, once the batch there has proved the entry right."""
        entry = lookup()
        if entry is None:
            return 0
        last_offset, position = entry
        try:
            if position >= 0 and header_at(self.file, position, self.size).last_offset == last_offset:
                return position
        except KafkaError:
            pass  # a batch that does not parse there: either the index lies or the batch is damaged
        self._index = self.rebuild_indexes().offsets
        entry = lookup()
        return entry[1] if entry else 0

    def read(self, offset: Offset, max_bytes: int, end: Offset | None, min_one: bool) -> LogRead | None:
        """Whole batches from the one that holds `offset`; None where there is none below `end`.

        `end` is None where nothing of the segment is hidden.
        """
        found = self.locate(offset)
        if found is None:
            return None
        position, first = found
        stop = self.size
        if end is not None and (hidden := self.locate(end)) is not None:
            stop = hidden[0]
        if stop - position > max_bytes:
            stop = self._last_boundary(position, position + max_bytes)
            if stop == position and min_one:
                stop += first.size
        if stop <= position:
            return None
        return LogRead(FileSlice(self.file, position, stop - position), first.base_offset)

    def is_without_records(self, found: LogRead) -> bool:
        """Whether the batches in what was read are all empty; then they are nothing but headers."""
        position, length = found.slice.position, found.slice.length
        if length % HEADER.size:
            return False
        return all(not header.record_count for _, header in walk(self.file, position, position + length))

    def _last_boundary(self, position: int, limit: int) -> int:
        """The end of the last batch that ends at or before `limit`, seen from the batch at `position`."""
        near = self._checked(lambda: self.index.at_or_before(limit))
        last_offset = -1
        position = max(position, near)
        for at, header in walk(self.file, position, self.size):
            if at + header.size > limit:
                after = last_offset if last_offset >= 0 else header.base_offset - 1
                self._read_on = (after, header.last_offset, at)
                return at
            last_offset = header.last_offset
            position = at + header.size
        return position

    def batches_by_time(self, timestamp: TimestampMs, start: Offset) -> Iterator[tuple[int, BatchHeader]]:
        """Batches from `start` on that, by their headers, hold a record as new as `timestamp`."""
        times = self.time_index()
        before = times.entry_below(timestamp)
        if before is not None and not self._holds(*before):
            before = self.rebuild_indexes().times.entry_below(timestamp)
        for position, header in self.batches_from(max(start, before[1] if before else self.base)):
            if header.max_timestamp >= timestamp:
                yield position, header

    def read_batch(self, position: int, header: BatchHeader) -> memoryview:
        return memoryview(self.file.read_at(position, header.size))
