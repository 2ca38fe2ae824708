"""Makes a segment whole again after a crash: a torn tail is cut, damage between batches is set aside.

Nothing valid is dropped. Every step leaves files from which recovery can start again.
"""

from collections.abc import Callable

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Offset
from tidelog.base.ports import Disk, File, read_file
from tidelog.storage.batch_walk import walk
from tidelog.storage.file_names import DAMAGED, LOG, RECOVERING
from tidelog.storage.offset_index import CorruptIndex
from tidelog.storage.recovery_report import Cut, Damage, Hole, RecoveryReport
from tidelog.storage.segment import Segment
from tidelog.storage.segment_indexes import SegmentIndexes
from tidelog.storage.segment_scan import Bad, Good, SegmentScan

_COPY_BYTES = 1 << 20


class Recovered:
    __slots__ = ("end", "indexes", "is_cut", "scan_start", "size")

    def __init__(self, size: int, end: Offset, indexes: SegmentIndexes, scan_start: Offset) -> None:
        self.size = size
        self.end = end
        """Offset after the last batch; the segment's base while it is empty."""
        self.indexes = indexes
        self.scan_start = scan_start
        """Batches from this offset on were checked."""
        self.is_cut = False
        """There was a hole, and the log ends before it."""


def recover_segment(
    disk: Disk,
    segment: Segment,
    trusted_below: Offset,
    *,
    is_last: bool,
    report: RecoveryReport,
    whole_from: Offset | None = None,
    before_cut: Callable[[], None] | None = None,
) -> Recovered:
    """Check the batches from `trusted_below` on, repair the file, and build the indexes of those batches.

    `whole_from`: no hole is tolerated from this offset on; the segment is cut there, after `before_cut`.
    """
    file = segment.file
    position, next_offset, indexes = _trusted_part(disk, segment, trusted_below, report)
    scan_start = next_offset
    bad: list[Bad] = []
    hole: tuple[int, Offset] | None = None
    end_position = position
    for found in SegmentScan(file, segment.base, segment.size).run(position, next_offset):
        if isinstance(found, Good):
            header = found.header
            indexes.note(header.last_offset, found.position, header.size, header.max_timestamp)
            next_offset = header.next_offset
            end_position = found.position + header.size
        else:
            is_tail = is_last and found.end == segment.size
            if hole is None and whole_from is not None and next_offset >= whole_from and not is_tail:
                hole = len(bad), next_offset
            bad.append(found)
    report.scanned_bytes += segment.size - position
    if hole is not None:
        number, next_offset = hole
        if before_cut is not None:
            before_cut()
        _cut_at_hole(disk, segment, bad[number], next_offset, report)
        bad = bad[:number]
        indexes = SegmentIndexes(segment.base, segment.folder.config.index_interval_bytes)
        indexes.note_from(segment.file, 0, segment.size)
        end_position = segment.size
    elif bad and bad[-1].end == segment.size and (is_last or bad[-1].zeros):
        tail = bad.pop()
        file.truncate(tail.position)
        file.sync()
        if not tail.zeros:
            report.cuts.append(Cut(file.path, tail.position, tail.end - tail.position, tail.why))
        segment.size = tail.position
    if bad:
        _set_aside(disk, segment, bad, report)
        indexes = SegmentIndexes(segment.base, segment.folder.config.index_interval_bytes)
        indexes.note_from(segment.file, 0, segment.size)
        end_position = segment.size
    recovered = Recovered(end_position, next_offset, indexes, scan_start)
    recovered.is_cut = hole is not None
    return recovered


def _cut_at_hole(disk: Disk, segment: Segment, hole: Bad, offset: Offset, report: RecoveryReport) -> None:
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
    """(position, offset, indexes) from which on batches must be checked."""
    base, interval = segment.base, segment.folder.config.index_interval_bytes
    if trusted_below <= base:
        return 0, base, SegmentIndexes(base, interval)
    try:
        indexes = SegmentIndexes.load(disk, segment.path, base, segment.size, interval)
        if not indexes.offsets.is_ordered():
            raise CorruptIndex("its entries are out of order")
        entry = indexes.offsets.at_or_below(trusted_below - 1)
        position = entry[1] if entry else 0
        for _, header in walk(segment.file, position, segment.size):
            if entry and header.last_offset != entry[0]:
                raise CorruptIndex("its last entry points elsewhere")
            break
        indexes.cut(position, _offset_at(segment, position))
    except (CorruptIndex, KafkaError):
        report.rebuilt.append(segment.path)
        position, indexes = 0, SegmentIndexes(base, interval)
    next_offset = base
    try:
        for at, header in walk(segment.file, position, segment.size):
            if not next_offset <= header.base_offset < trusted_below:
                break
            indexes.note(header.last_offset, at, header.size, header.max_timestamp)
            position, next_offset = at + header.size, header.next_offset
    except KafkaError:
        pass  # the check that follows names what is there
    return position, next_offset, indexes


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
    disk.sync_dir(directory)  # the damaged bytes are safe before the file that held them goes
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
