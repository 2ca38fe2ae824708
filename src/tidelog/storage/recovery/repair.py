"""Makes a segment whole again after a crash: a torn tail is truncated, damage is set aside.

Damage is what lies between valid batches, or where the log was known to be synced: no crash tears that.
Nothing valid is dropped. Every step leaves files from which recovery can start again.
"""

from collections.abc import Callable
from typing import NamedTuple

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Offset
from tidelog.base.ports import Disk, File, read_file
from tidelog.storage.file_names import DAMAGED, LOG, RECOVERING
from tidelog.storage.recovery.report import Damage, Hole, RecoveryReport, TornWrite
from tidelog.storage.segment.batch_walk import walk
from tidelog.storage.segment.indexes import SegmentIndexes
from tidelog.storage.segment.offset_index import CorruptIndex
from tidelog.storage.segment.scan import Bad, Good, SegmentScan
from tidelog.storage.segment.segment import Segment
from tidelog.wire.batch import BatchHeader

_COPY_BYTES = 1 << 20


class PriorKnowledge(NamedTuple):
    """What is known of a log before its batches are looked at."""

    synced_below: Offset
    """All that was written below was on stable storage."""
    torn_from: Offset
    """Bytes that are no batch are a write that a crash tore, if they would have begun here or above."""
    ended_at: Offset | None = None
    """Where a log ended that was closed in order: a batch behind a gap that reaches further is damaged."""


class Recovered:
    __slots__ = ("end", "indexes", "is_truncated", "scan_start", "size")

    def __init__(self, size: int, end: Offset, indexes: SegmentIndexes, scan_start: Offset) -> None:
        self.size = size
        self.end = end
        """Offset after the last batch; the segment's base while it is empty."""
        self.indexes = indexes
        self.scan_start = scan_start
        """Batches from this offset on were checked."""
        self.is_truncated = False
        """There was a hole, and the log ends before it."""


def recover_segment(
    disk: Disk,
    segment: Segment,
    trusted_below: Offset,
    known: PriorKnowledge,
    *,
    is_last: bool,
    report: RecoveryReport,
    must_be_whole: bool = False,
    before_truncation: Callable[[], None] | None = None,
    on_lost: Callable[[Offset, Offset], None] | None = None,
) -> Recovered:
    """Check the batches from `trusted_below` on, repair the file, and build the indexes of those batches.

    `must_be_whole`: of what a crash may have torn, no hole is tolerated: the segment is truncated there,
    after `before_truncation`. `on_lost` gets the first offset that damage took, and the end of the segment,
    before anything is changed.
    """
    file = segment.file
    position, next_offset, indexes = _trusted_part(disk, segment, trusted_below, report)
    scan_start = next_offset
    bad: list[Bad] = []
    hole: tuple[int, Offset] | None = None
    first_lost: Offset | None = None
    end_position = position
    tail_is_torn = False
    scan = SegmentScan(file, segment.base, segment.size, known.ended_at)
    for found in scan.run(position, next_offset):
        if isinstance(found, Good):
            header = found.header
            indexes.note(header.last_offset, found.position, header.size, header.max_timestamp)
            next_offset = header.next_offset
            end_position = found.position + header.size
        else:
            at_end = found.end == segment.size
            may_be_torn = next_offset >= (known.synced_below if found.zeros else known.torn_from)
            # What a log that was closed in order has behind its end may be anything: that is kept.
            tail_is_torn = at_end and may_be_torn and (found.zeros or (is_last and known.ended_at is None))
            if not may_be_torn and first_lost is None:
                first_lost = next_offset
            if hole is None and must_be_whole and may_be_torn and not (is_last and at_end):
                hole = len(bad), next_offset
            bad.append(found)
    report.scanned_bytes += segment.size - position
    if first_lost is not None and on_lost is not None:
        on_lost(first_lost, next_offset)
    if hole is not None:
        number, next_offset = hole
        if before_truncation is not None:
            before_truncation()
        _truncate_at_hole(disk, segment, bad[number], next_offset, report)
        bad = bad[:number]
        indexes = SegmentIndexes(segment.base, segment.files.config.index_interval_bytes)
        indexes.note_from(segment.file, 0, segment.size)
        end_position = segment.size
    elif tail_is_torn:
        tail = bad.pop()
        file.truncate(tail.position)
        file.sync()
        if not tail.zeros:
            report.torn_writes.append(TornWrite(file.path, tail.position, tail.end - tail.position, tail.why))
        segment.size = tail.position
    if bad:
        _set_aside(disk, segment, bad, report)
        indexes = SegmentIndexes(segment.base, segment.files.config.index_interval_bytes)
        indexes.note_from(segment.file, 0, segment.size)
        end_position = segment.size
    recovered = Recovered(end_position, next_offset, indexes, scan_start)
    recovered.is_truncated = hole is not None
    return recovered


def _truncate_at_hole(
    disk: Disk, segment: Segment, hole: Bad, offset: Offset, report: RecoveryReport
) -> None:
    file, rest = segment.file, hole._replace(end=segment.size)
    kept_in = _keep(disk, file, segment.path + LOG, rest)
    disk.sync_dir(segment.path.rpartition("/")[0])
    report.holes.append(Hole(file.path, rest.position, rest.end - rest.position, offset, kept_in, rest.why))
    file.truncate(hole.position)
    file.sync()
    segment.size = hole.position


def _trusted_part(
    disk: Disk, segment: Segment, trusted_below: Offset, report: RecoveryReport
) -> tuple[int, Offset, SegmentIndexes]:
    """(position, offset, indexes) from which on batches must be checked.

    The newest batch below `trusted_below` is one of them: it shows whether the log still ends as it did.
    """
    base, interval = segment.base, segment.files.config.index_interval_bytes
    if trusted_below <= base:
        return 0, base, SegmentIndexes(base, interval)
    try:
        indexes = SegmentIndexes.load(disk, segment.path, base, segment.size, interval)
        if not indexes.offsets.is_ordered():
            raise CorruptIndex("its entries are out of order")
        entry = indexes.offsets.at_or_below(trusted_below - 1)
        position, offset = (entry[1], _offset_at(segment, entry[1])) if entry else (0, base)
        for _, header in walk(segment.file, position, segment.size):
            if entry and header.last_offset != entry[0]:
                raise CorruptIndex("its last entry points elsewhere")
            break
        indexes.truncate(position, offset)
    except (CorruptIndex, KafkaError):
        report.rebuilt.append(segment.path)
        position, offset, indexes = 0, base, SegmentIndexes(base, interval)
    newest: BatchHeader | None = None
    try:
        for at, header in walk(segment.file, position, segment.size):
            expected = offset if newest is None else newest.next_offset
            if not expected <= header.base_offset < trusted_below:
                break
            if newest is not None:
                indexes.note(newest.last_offset, position, newest.size, newest.max_timestamp)
            position, offset, newest = at, expected, header
    except KafkaError:
        pass  # the check that follows names what is there
    return position, offset, indexes


def _offset_at(segment: Segment, position: int) -> Offset:
    for _, header in walk(segment.file, position, segment.size):
        return header.base_offset
    return segment.base


def _set_aside(disk: Disk, segment: Segment, bad: list[Bad], report: RecoveryReport) -> None:
    """Copy the damaged stretches to files of their own, then rewrite the segment without them."""
    file = segment.file
    directory = segment.path.rpartition("/")[0]
    for stretch in bad:
        kept_in = _keep(disk, file, segment.path + LOG, stretch)
        report.damages.append(
            Damage(file.path, stretch.position, stretch.end - stretch.position, kept_in, stretch.why)
        )
    temporary = segment.path + LOG + RECOVERING
    copy = disk.open(temporary, create=True)
    copy.truncate(0)
    size = position = 0
    for stretch in [*bad, Bad(segment.size, segment.size, "", False)]:
        size += _copy(file, position, stretch.position, copy, size)
        position = stretch.end
    copy.sync()
    disk.sync_dir(directory)  # the damaged bytes are durable before the file that held them goes
    disk.rename(temporary, segment.path + LOG)
    disk.sync_dir(directory)
    segment.cool()
    segment.size = size


def _keep(disk: Disk, file: File, path: str, stretch: Bad) -> str:
    name = f"{path}{DAMAGED}{stretch.position}"
    number = 0
    target = name
    while disk.exists(target):
        if disk.size(target) == stretch.end - stretch.position and _same(disk, target, file, stretch):
            return target  # an earlier recovery got this far
        number += 1
        target = f"{name}.{number}"
    temporary = target + ".tmp"
    side = disk.open(temporary, create=True)
    try:
        side.truncate(0)
        _copy(file, stretch.position, stretch.end, side, 0)
        side.sync()
    finally:
        side.close()
    disk.rename(temporary, target)
    return target


def _same(disk: Disk, path: str, file: File, stretch: Bad) -> bool:
    return read_file(disk, path) == file.read_at(stretch.position, stretch.end - stretch.position)


def _copy(source: File, start: int, stop: int, target: File, at: int) -> int:
    for position in range(start, stop, _COPY_BYTES):
        data = source.read_at(position, min(_COPY_BYTES, stop - position))
        target.write_at(at + position - start, [data])
    return max(0, stop - start)
