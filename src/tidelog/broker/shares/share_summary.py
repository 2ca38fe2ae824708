"""What an operator sees of a share partition: its records by state, its holders, and its oldest record."""

from typing import NamedTuple, Protocol

from tidelog.base.ids import Epoch, Offset, TimestampMs
from tidelog.replication.partition import Partition
from tidelog.replication.read_limit import ReadLimit
from tidelog.shares.partition.share_partition import SharePartition
from tidelog.shares.place import SharePlace
from tidelog.storage.segment.batch_walk import header_at

NO_TIMESTAMP: TimestampMs = -1


class SeenShare(Protocol):
    """A share partition that is loaded, or as it is stored."""

    @property
    def place(self) -> SharePlace: ...
    @property
    def partition(self) -> Partition: ...
    @property
    def share(self) -> SharePartition: ...
    @property
    def read_limit(self) -> ReadLimit: ...
    @property
    def leader_epoch(self) -> Epoch: ...


class ShareSummary(NamedTuple):
    start_offset: Offset
    end_offset: Offset
    readable_end: Offset
    available: int
    """Records of the window that may be delivered now."""
    acquired: int
    scheduled: int
    delayed: int
    archiving: int
    done: int

    @property
    def unfinished(self) -> int:
        """The depth of the queue: records that the group may read and has not finished."""
        return max(0, self.readable_end - self.start_offset - self.done)


def summarize(led: SeenShare) -> ShareSummary:
    share = led.share
    return ShareSummary(
        share.start_offset,
        share.end_offset,
        led.partition.readable_end(led.read_limit),
        share.available,
        share.acquired,
        share.scheduled,
        share.delayed,
        share.archiving,
        share.done,
    )


def oldest_timestamp(led: SeenShare) -> TimestampMs:
    """The timestamp of the batch with the oldest unfinished record; -1 where there is none.

    Reads one header of the log. KafkaError if the log cannot be read.
    """
    log = led.partition.log
    offset, end = max(led.share.start_offset, log.start), led.partition.readable_end(led.read_limit)
    read = log.read(offset, 1, end=end) if offset < end else None
    if read is None:
        return NO_TIMESTAMP
    where = read.slice
    header = header_at(where.file, where.position, where.position + where.length)
    is_appended = header.is_log_append_time or header.has_delete_horizon
    return header.max_timestamp if is_appended else header.base_timestamp
