"""How much of a log waits for compaction, and whether it is time: the numbers by which the cleaner chooses.

Clean is what an earlier compaction has seen. Dirty is what came since, up to the first segment that may not
be touched yet. Both are counted in whole segments.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tidelog.base.ids import Offset, TimestampMs
from tidelog.storage.log_config import LogConfig
from tidelog.storage.segment.segment import Segment


class CleanableRange(NamedTuple):
    start: Offset
    """The first dirty offset."""
    end: Offset
    """Where the first segment begins that may not be compacted yet; never below the start."""
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool
    """Something dirty is older than `max.compaction.lag.ms`."""

    @property
    def ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    def is_due(self, config: LogConfig) -> bool:
        return self.dirty_bytes > 0 and (self.is_overdue or self.ratio > config.min_cleanable_dirty_ratio)


def measure(
    segments: Sequence[Segment],
    config: LogConfig,
    *,
    start: Offset,
    end: Offset,
    cleaned_to: Offset | None,
    stable_below: Offset,
    now_ms: TimestampMs,
) -> CleanableRange:
    """The cleanable range of the log from `start` to `end`, whose last segment is active. Reads timestamps.

    A `cleaned_to` outside of the log is not believed. What lies above `stable_below` may be taken back.
    """
    first_dirty = cleaned_to if cleaned_to is not None and start <= cleaned_to <= end else start
    ends = [segment.base for segment in segments[1:]]
    clean_bytes = dirty_bytes = 0
    dirty_end = first_dirty
    is_overdue = False
    for segment, segment_end in zip(segments, ends, strict=False):
        if segment_end <= start:
            continue  # deleted records; retention takes the segment away
        if segment_end <= first_dirty:
            clean_bytes += segment.size
            continue
        if segment_end > stable_below or _is_too_young(segment, config, now_ms):
            break
        dirty_bytes += segment.size
        dirty_end = segment_end
        is_overdue = is_overdue or _is_overdue(segment, config, now_ms)
    return CleanableRange(first_dirty, dirty_end, clean_bytes, dirty_bytes, is_overdue)


def _is_too_young(segment: Segment, config: LogConfig, now_ms: TimestampMs) -> bool:
    lag_ms = config.min_compaction_lag_ms
    return lag_ms > 0 and segment.newest[0] > now_ms - lag_ms


def _is_overdue(segment: Segment, config: LogConfig, now_ms: TimestampMs) -> bool:
    oldest_ms = now_ms - config.max_compaction_lag_ms
    if oldest_ms <= 0:
        return False
    first = segment.locate(segment.base)
    return first is not None and 0 < first[1].max_timestamp < oldest_ms
