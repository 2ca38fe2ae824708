"""Where a share group begins in a partition that it reads for the first time: `share.auto.offset.reset`."""

from tidelog.base.durations import parse_duration_ms
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.group_settings import BY_DURATION
from tidelog.base.ids import Offset, TimestampMs
from tidelog.replication.partition import Partition
from tidelog.shares.states import ShareState, StateBatch

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


def within_log(state: ShareState, log_end: Offset) -> ShareState:
    """The state without offsets at or above the end of the log.

    After an unclean election such records are gone, and others will get their offsets. A write of dead
    letters that had some of them is not repeated: its other records are written anew, maybe for the second
    time.
    """
    begun = state.dead_letters
    if begun is not None and begun.offsets[-1][1] >= log_end:
        state = state._replace(dead_letters=None)
    if state.start_offset <= log_end and all(batch.last_offset < log_end for batch in state.batches):
        return state
    kept: list[StateBatch] = []
    for batch in state.batches:
        if batch.first_offset < log_end:
            kept.append(batch._replace(last_offset=min(batch.last_offset, log_end - 1)))
    return state._replace(start_offset=min(state.start_offset, log_end), batches=tuple(kept))
