"""One compaction of one log: of each key only the newest record stays, at the offset it has.

Planned on the loop (`LogCompaction.begin`), run in a thread, which touches nothing of the log but
files it opens itself, and taken in on the loop, group by group (`LogCompaction.finish`).
"""

from collections.abc import Mapping, Sequence

from tidelog.base.ids import Offset, ProducerId, TimestampMs
from tidelog.base.ports import Buffer, Disk
from tidelog.storage.compaction.batch_cleaning import BatchCleaner, emptied
from tidelog.storage.compaction.cleaned_segment import Cleaned, CleanedSegment, Pace
from tidelog.storage.compaction.groups import Group, Source, group
from tidelog.storage.compaction.key_map import KeyMap
from tidelog.storage.compaction.swap import discard
from tidelog.storage.compaction.transaction_cleaning import TransactionCleaner
from tidelog.storage.compaction.transaction_outcomes import TransactionOutcomes
from tidelog.storage.file_names import LOG
from tidelog.storage.log_config import LogConfig
from tidelog.storage.segment.batch_reader import read_batches
from tidelog.storage.segment.offset_index import RELATIVE_MAX
from tidelog.wire.batch import BatchHeader
from tidelog.wire.record_outline import outline_records, record_bytes


class Compaction:
    def __init__(
        self,
        disk: Disk,
        config: LogConfig,
        sources: Sequence[Source],
        *,
        first_dirty: Offset,
        outcomes: TransactionOutcomes,
        producers: Mapping[ProducerId, Offset],
        epochs: Mapping[ProducerId, int],
        truncations: int,
        key_bytes_max: int,
        now_ms: TimestampMs,
    ) -> None:
        """`producers`: the last offset of each one that is still known, whose batch must not vanish.

        `epochs`: of those that are known without any batch, from their last marker.
        """
        self._disk = disk
        self._config = config
        self.sources = sources
        self._outcomes = outcomes
        self._producers = producers
        self.truncations = truncations
        self._keys = KeyMap(key_bytes_max)
        self._cleaner = BatchCleaner(self._keys, now_ms, config.delete_retention_ms)
        self._transactions = TransactionCleaner(
            outcomes,
            epochs,
            first_dirty=first_dirty,
            now_ms=now_ms,
            delete_retention_ms=config.delete_retention_ms,
        )
        self.first_dirty = first_dirty
        self.end = first_dirty
        """Where the part that is compacted ends; known when `map_keys` has run."""
        self.bytes_before = self.bytes_after = 0

    @property
    def records_removed(self) -> int:
        return self._cleaner.records_read - self._cleaner.records_kept

    def map_keys(self, pace: Pace) -> None:
        """Learn the newest offset of each key in the dirty part, or in so much of it as memory allows.

        Raises KafkaError where a batch is damaged, OSError, and what `pace` raises.
        """
        is_first = True
        for source in self.sources:
            if source.end <= self.first_dirty:
                continue
            file = self._disk.open(source.path + LOG)
            # An older value may go only when the newer one cannot be lost any more.
            file.sync()
            for header, batch in read_batches(file, source.size, source.base, source.end):
                pace(len(batch))
                if header.last_offset < self.first_dirty:
                    continue
                entries = self._entries(header, batch)
                if is_first and entries:
                    self._keys.put_first(entries)
                    is_first = False
                elif not self._keys.put_all(entries):
                    return
                self.end = header.next_offset
            self.end = source.end

    def _entries(self, header: BatchHeader, batch: memoryview) -> list[tuple[bytes, Offset]]:
        if header.is_control or (header.is_transactional and not self._outcomes.is_committed(header)):
            return []
        base = header.base_offset
        outlines = outline_records(record_bytes(batch, header), header)
        return [(key, base + delta) for *_, delta, key, _ in outlines if key is not None]

    def groups(self) -> list[Group]:
        """What to clean, the oldest first: a tombstone never goes before the value that it deletes."""
        return group([source for source in self.sources if source.base < self.end], self._config)

    def clean(self, sources: Group, pace: Pace) -> Cleaned | None:
        """Write the group anew, without what is outdated. None where that would change nothing.

        Whatever is raised, nothing of it is left on the disk.
        """
        cleaned = CleanedSegment(self._disk, sources, self._config.index_interval_bytes, pace)
        try:
            is_changed = self._write(sources, cleaned, pace)
            if is_changed or len(sources) > 1:
                result = cleaned.finish(self.truncations)
                self.bytes_before += sum(source.size for source in sources)
                self.bytes_after += result.size
                return result
        except BaseException:
            self.discard(sources)
            raise
        self.discard(sources)
        return None

    def _write(self, sources: Group, cleaned: CleanedSegment, pace: Pace) -> bool:
        is_changed = False
        # Positions have 31 bits. A batch may grow: by new timestamp deltas, or if it was compressed harder.
        growth_left = RELATIVE_MAX - sum(source.size for source in sources)
        for source in sources:
            file = self._disk.open(source.path + LOG)
            for header, batch in read_batches(file, source.size, source.base, source.end):
                pace(len(batch))
                left = self._left_of(header, batch)
                if header.is_control and left is None:
                    cleaned.forget_marker(header.base_offset)
                if left is batch:
                    cleaned.add(batch)
                    continue
                if left is None:
                    cleaned.leave_out(header)
                    continue
                growth = len(left) - len(batch)
                if growth > growth_left:
                    cleaned.add(batch)
                    continue
                growth_left -= max(0, growth)
                is_changed = True
                cleaned.add(left)
        return is_changed or cleaned.size != sum(source.size for source in sources)

    def _left_of(self, header: BatchHeader, batch: memoryview) -> Buffer | None:
        if header.base_offset >= self.end:
            return batch
        if header.is_control:
            return self._transactions.left_of_marker(header, batch)
        is_aborted = self._transactions.is_aborted(header)
        left = None
        if is_aborted:
            self._cleaner.records_read += header.record_count
        elif header.record_count:
            left = self._cleaner.clean(batch, header)
        if left is None and self._producers.get(header.producer_id) == header.last_offset:
            # Its sequence is how a retry of this producer is recognised.
            return emptied(header, keep_timestamp=True) if header.record_count else batch
        return left

    def discard(self, sources: Group) -> None:
        """The result for this group is not wanted any more."""
        try:
            discard(self._disk, sources[0].path)
        except OSError:
            pass  # the directory is gone, or the disk fails: then the next start removes what is left
