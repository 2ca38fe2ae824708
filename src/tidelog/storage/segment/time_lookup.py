"""Finding records by their timestamps: by index to the batch, then inside that one batch."""

from collections.abc import Sequence
from typing import NamedTuple

from tidelog.base.ids import Epoch, Offset, TimestampMs
from tidelog.storage.segment.segment import Segment
from tidelog.wire.batch import BatchHeader
from tidelog.wire.record import read_records


class TimestampOffset(NamedTuple):
    offset: Offset
    timestamp: TimestampMs
    epoch: Epoch


def find(segments: Sequence[Segment], start: Offset, timestamp: TimestampMs) -> TimestampOffset | None:
    """The first record at or after `start` that is as new as `timestamp`."""
    for segment in segments:
        if not segment.size or segment.newest[0] < timestamp:
            continue
        for position, header in segment.batches_by_time(timestamp, start):
            found = _in_batch(segment, position, header, start, timestamp)
            if found is not None:
                return found
    return None


def newest(segments: Sequence[Segment], start: Offset) -> TimestampOffset | None:
    """The first of the records with the largest timestamp."""
    filled = [segment for segment in segments if segment.size and segment.newest[0] >= 0]
    for segment in sorted(filled, key=lambda segment: (-segment.newest[0], segment.base)):
        timestamp, offset = segment.newest
        if offset >= start and (located := segment.locate(offset)) is not None:
            found = _in_batch(segment, *located, start, timestamp)
            if found is not None:
                return found
    return None


def _in_batch(
    segment: Segment, position: int, header: BatchHeader, start: Offset, timestamp: TimestampMs
) -> TimestampOffset | None:
    for record in read_records(segment.read_batch(position, header)):
        if record.timestamp >= timestamp and record.offset >= start:
            return TimestampOffset(record.offset, record.timestamp, header.leader_epoch)
    return None
