"""The two indexes of a segment together: they grow by the same rule, and a crash harms them together.

`note` is the one rule for when an entry is added, whether a batch is appended or found again by recovery.
"""

from tidelog.base.errors import KafkaError
from tidelog.base.ids import NO_TIMESTAMP, Offset, TimestampMs
from tidelog.base.ports import Disk, File, read_file
from tidelog.storage.file_names import INDEX, TIME_INDEX
from tidelog.storage.segment.batch_walk import no_batch, walk
from tidelog.storage.segment.offset_index import ENTRY_BYTES, RELATIVE_MAX, CorruptIndex, OffsetIndex
from tidelog.storage.segment.time_index import ENTRY as TIME_ENTRY
from tidelog.storage.segment.time_index import TimeIndex


class SegmentIndexes:
    __slots__ = (
        "_interval_bytes",
        "_offsets_written",
        "_since_entry",
        "_times_written",
        "base",
        "newest_offset",
        "newest_timestamp",
        "offsets",
        "times",
    )

    def __init__(self, base: Offset, interval_bytes: int) -> None:
        self.base = base
        self.offsets = OffsetIndex(base)
        self.times = TimeIndex(base)
        self.newest_timestamp: TimestampMs = NO_TIMESTAMP
        self.newest_offset = base
        """Last offset of the batch that holds the newest timestamp."""
        self._interval_bytes = interval_bytes
        self._since_entry = 0
        self._offsets_written = self._times_written = 0

    @classmethod
    def load(
        cls, disk: Disk, path: str, base: Offset, log_bytes: int, interval_bytes: int
    ) -> "SegmentIndexes":
        """From the files, or CorruptIndex. What lies after the last entry is not accounted for yet."""
        indexes = cls(base, interval_bytes)
        raw, raw_times = read_file(disk, path + INDEX), read_file(disk, path + TIME_INDEX)
        if raw is None or raw_times is None:
            raise CorruptIndex("it is missing")
        indexes.offsets = OffsetIndex.load(base, raw, log_bytes)
        indexes.times = TimeIndex.load(base, raw_times)
        indexes.newest_timestamp, indexes.newest_offset = indexes.times.last
        indexes._offsets_written, indexes._times_written = len(indexes.offsets), len(indexes.times)
        last = indexes.offsets.last
        indexes._since_entry = log_bytes - (last[1] if last else 0)
        return indexes

    @classmethod
    def rebuild(
        cls, file: File, base: Offset, stop: int, interval_bytes: int
    ) -> tuple["SegmentIndexes", bool]:
        """From the batches, as far as these can be walked; and whether that was to the end."""
        indexes = cls(base, interval_bytes)
        try:
            indexes.note_from(file, 0, stop)
        except KafkaError:
            return indexes, False
        return indexes, True

    def note_from(self, file: File, position: int, stop: int) -> None:
        """Note the batches between two positions of the segment; KafkaError where there is none."""
        for at, header in walk(file, position, stop):
            if not 0 <= header.last_offset - self.base <= RELATIVE_MAX:
                raise no_batch(file, at, f"offset {header.last_offset} in the segment of {self.base}")
            self.note(header.last_offset, at, header.size, header.max_timestamp)

    def note(self, last_offset: Offset, position: int, size: int, timestamp: TimestampMs) -> None:
        """The batch at `position` is in the segment."""
        if timestamp > self.newest_timestamp:
            self.newest_timestamp = timestamp
            self.newest_offset = last_offset
        if self._since_entry > self._interval_bytes:
            self.offsets.add(last_offset, position)
            self.times.add(self.newest_timestamp, self.newest_offset)
            self._since_entry = 0
        self._since_entry += size

    def seal(self) -> None:
        """The last entry of a complete time index is the newest of all."""
        self.times.add(self.newest_timestamp, self.newest_offset)

    def truncate(self, position: int, offset: Offset) -> None:
        """The segment now ends at `position`, where the batch with `offset` began. Write anew after this.

        What lies after the last entry that is left must be noted again.
        """
        self.offsets.truncate(position)
        self.times.truncate(offset)
        self.newest_timestamp, self.newest_offset = self.times.last
        self._offsets_written = self._times_written = 0
        self._since_entry = 0

    @property
    def unwritten(self) -> int:
        return len(self.offsets) - self._offsets_written

    def write(self, disk: Disk, path: str, *, sync: bool = False) -> None:
        """Bring the files up to date."""
        for suffix, index, written, entry_bytes in (
            (INDEX, self.offsets, self._offsets_written, ENTRY_BYTES),
            (TIME_INDEX, self.times, self._times_written, TIME_ENTRY.size),
        ):
            file = disk.open(path + suffix, create=True)
            try:
                if written == 0:
                    file.truncate(0)
                if new := index.dump(written):
                    file.write_at(written * entry_bytes, [new])
                if sync:
                    file.sync()
            finally:
                file.close()
        self._offsets_written, self._times_written = len(self.offsets), len(self.times)
