"""Which segments a log no longer has to keep. Pure decisions: the log carries them out."""

from collections.abc import Sequence

from tidelog.base.ids import Offset, TimestampMs
from tidelog.storage.log_config import LogConfig
from tidelog.storage.segment.segment import Segment


def expired(
    segments: Sequence[Segment],
    config: LogConfig,
    *,
    start: Offset,
    end: Offset,
    limit: Offset,
    now_ms: TimestampMs,
    by_start_only: bool = False,
) -> int:
    """How many of the oldest segments of a log from `start` to `end` may go; none that reaches above `limit`.

    The active one counts too: the log rolls before it gives that up.
    """
    ends = [*(segment.base for segment in segments[1:]), end]
    excess = sum(segment.size for segment in segments) - config.retention_bytes
    by_time = config.delete and config.retention_ms >= 0 and not by_start_only
    by_size = config.delete and config.retention_bytes >= 0 and not by_start_only
    removable = 0
    for segment, segment_end in zip(segments, ends, strict=True):
        is_active = segment is segments[-1]
        if segment_end > limit or (is_active and not segment.size):
            break
        below_start = not is_active and segment_end <= start
        too_old = by_time and now_ms - segment.retention_timestamp > config.retention_ms
        too_much = by_size and excess >= segment.size
        if not (below_start or too_old or too_much):
            break
        excess -= segment.size
        removable += 1
    return removable
