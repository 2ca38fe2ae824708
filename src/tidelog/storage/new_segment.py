"""Making the active segment of a log: a new file, or a segment that becomes the last one again."""

from crc32c import crc32c

from tidelog.base.ids import Offset, TimestampMs
from tidelog.base.ports import Disk
from tidelog.storage.active_segment import ActiveSegment
from tidelog.storage.file_names import INDEX, LOG, TIME_INDEX, file_name
from tidelog.storage.log_config import LogConfig
from tidelog.storage.segment import Segment
from tidelog.storage.segment_indexes import SegmentIndexes
from tidelog.storage.warm_segments import WarmSegments


def create_segment(
    disk: Disk, directory: str, base: Offset, config: LogConfig, warm: WarmSegments, now_ms: TimestampMs
) -> ActiveSegment:
    """An empty segment at `base`. What a crash left under its names holds nothing of this log."""
    path = f"{directory}/{file_name(base, '')}"
    for suffix in (INDEX, TIME_INDEX):
        if disk.exists(path + suffix):
            disk.remove(path + suffix)
    file = disk.open(path + LOG, create=True)
    file.truncate(0)
    if config.preallocate:
        file.allocate(config.segment_bytes)
    segment = ActiveSegment(
        disk, directory, base, 0, warm=warm, created_ms=now_ms, interval_bytes=config.index_interval_bytes
    )
    segment.roll_jitter_ms = roll_jitter_ms(config, path)
    segment.adopt(file, segment.newest)
    return segment


def activate(
    segment: Segment,
    disk: Disk,
    directory: str,
    config: LogConfig,
    warm: WarmSegments,
    indexes: SegmentIndexes | None = None,
) -> ActiveSegment:
    """The segment as the one that is appended to. `indexes` where they are known better than in the files."""
    if isinstance(segment, ActiveSegment):
        return segment
    warm.forget(segment)
    active = ActiveSegment(
        disk,
        directory,
        segment.base,
        segment.size,
        warm=warm,
        created_ms=segment.created_ms,
        interval_bytes=config.index_interval_bytes,
        indexes=indexes,
        newest=segment.newest if indexes is None else None,
    )
    active.roll_jitter_ms = roll_jitter_ms(config, active.path)
    return active


def roll_jitter_ms(config: LogConfig, path: str) -> int:
    """Spreads rolls by time over partitions. Drawn from the name, so that a run can be repeated."""
    widest = min(config.segment_jitter_ms, config.segment_ms)
    return crc32c(path.encode()) % widest if widest > 0 else 0
