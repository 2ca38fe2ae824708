"""The segment that a compaction writes, beside the log: worthless until the log takes it in.

Its names end in `.cleaned`, those of its complete indexes in `.swap`; at a start both are litter as long as
no `.log.swap` stands beside them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_TIMESTAMP, Offset, TimestampMs
from tidelog.base.ports import Buffer, Disk, read_file
from tidelog.storage.compaction.batch_cleaning import emptied
from tidelog.storage.compaction.groups import Group, Source
from tidelog.storage.compaction.swap import discard
from tidelog.storage.file_names import CLEANED, INDEX, LOG, SWAP, TIME_INDEX, TXN_INDEX
from tidelog.storage.segment.indexes import SegmentIndexes
from tidelog.storage.segment.offset_index import CorruptIndex
from tidelog.storage.segment.transaction_index import TransactionIndex
from tidelog.wire.batch import HEADER, BatchHeader, read_header

Pace = Callable[[int], None]
"""Called for each stretch of bytes read or written; may wait, to keep to a rate, or raise, to stop."""

_WRITE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A compacted segment that is complete and durable, and not yet part of the log."""

    sources: Group
    size: int
    newest: tuple[TimestampMs, Offset]
    truncations: int
    """Of the log, when the compaction was planned: what was true before a truncation need not be now."""


class CleanedSegment:
    def __init__(self, disk: Disk, sources: Group, interval_bytes: int, pace: Pace) -> None:
        self._disk = disk
        self._sources = sources
        self._path = sources[0].path
        self._pace = pace
        self._indexes = SegmentIndexes(sources[0].base, interval_bytes)
        self._pending = bytearray()
        self._size = 0
        self._emptied: BatchHeader | None = None
        self._markers_gone: set[Offset] = set()
        discard(disk, self._path)
        self._file = disk.open(self._path + LOG + CLEANED, create=True)

    @property
    def size(self) -> int:
        """With the empty batch that `finish` may add."""
        return self._size + (HEADER.size if self._emptied is not None else 0)

    def add(self, batch: Buffer) -> None:
        header = read_header(batch)
        timestamp = header.max_timestamp if header.record_count else NO_TIMESTAMP
        self._indexes.note(header.last_offset, self._size, len(batch), timestamp)
        self._size += len(batch)
        self._emptied = None
        self._pending += batch  # a copy: a view would keep all that was read with it in memory
        if len(self._pending) >= _WRITE_BYTES:
            self._write()

    def leave_out(self, header: BatchHeader) -> None:
        """Nothing is left of this batch."""
        self._emptied = header

    def forget_marker(self, offset: Offset) -> None:
        """A marker is left out, and with it what the index says of the transaction that it ended.

        A reader that gets an aborted transaction looks for its marker to know where it is over.
        """
        self._markers_gone.add(offset)

    def _write(self) -> None:
        self._pace(len(self._pending))
        self._file.write_at(self._size - len(self._pending), [self._pending])
        self._pending.clear()

    def finish(self, truncations: int) -> Cleaned:
        """Make everything durable. Raises OSError.

        The last batch stays even if it is empty now: the segment must reach as far as those it replaces,
        since after a crash that is how they are recognised.
        """
        if self._emptied is not None:
            self.add(emptied(self._emptied, keep_timestamp=False))
        self._write()
        self._file.sync()
        self._indexes.seal()
        self._write_index(INDEX, [self._indexes.offsets.dump()])
        self._write_index(TIME_INDEX, [self._indexes.times.dump()])
        indexes = [raw for raw in map(self._txn_index, self._sources) if raw is not None]
        if indexes:
            # Even if nothing is left in it: after a crash it must take the place of the old one.
            self._write_index(TXN_INDEX, [self._without_gone(b"".join(indexes))])
        self._disk.sync_dir(self._path.rpartition("/")[0])
        newest = self._indexes.newest_timestamp, self._indexes.newest_offset
        return Cleaned(self._sources, self._size, newest, truncations)

    def _txn_index(self, source: Source) -> bytes | None:
        return read_file(self._disk, source.path + TXN_INDEX)

    def _without_gone(self, raw: bytes) -> bytes:
        """The files were good when the compaction was planned."""
        try:
            entries = TransactionIndex.load(self._sources[0].base, raw).entries
        except CorruptIndex as error:
            path = self._path + TXN_INDEX
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{path} cannot be right: {error}") from error
        return TransactionIndex([one for one in entries if one.last not in self._markers_gone]).dump()

    def _write_index(self, suffix: str, parts: Sequence[bytes]) -> None:
        path = self._path + suffix
        file = self._disk.open(path + CLEANED, create=True)
        try:
            file.write_at(0, parts)
            file.sync()
        finally:
            file.close()
        self._disk.rename(path + CLEANED, path + SWAP)
