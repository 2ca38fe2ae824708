"""Where a share group begins in a partition that it reads for the first time: `share.auto.offset.reset`."""

from tidelog.base.durations import parse_duration_ms
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.group_settings import BY_DURATION
from tidelog.base.ids import Offset, TimestampMs
from tidelog.replication.partition import Partition

EARLIEST = "earliest"


def first_offset(partition: Partition, reset: str, now_ms: TimestampMs) -> Offset:
    """KafkaError while the end of the partition is not known."""
    log = partition.log
    if reset == EARLIEST:
        return log.start
    if not partition.high_watermark_is_current:
        raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE, "the leader does not know its high watermark yet")
    end = partition.high_watermark
    if reset.startswith(BY_DURATION):
        oldest = max(0, now_ms - parse_duration_ms(reset.removeprefix(BY_DURATION)))
        found = log.find_by_time(oldest)
        if found is not None and found.offset < end:
            return found.offset
    return end
