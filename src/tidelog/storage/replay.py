"""Rebuilding what the batches of a log imply: the state of producers, and leader epochs."""

from collections.abc import Sequence

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Offset
from tidelog.storage.leader_epochs import LeaderEpochs
from tidelog.storage.producers import Producers
from tidelog.storage.segment import Segment
from tidelog.wire.batch import CONTROL, BatchHeader
from tidelog.wire.record import Control, read_control


def replay(segments: Sequence[Segment], producers: Producers, end: Offset) -> None:
    """Bring the state of producers from where it stands up to `end`."""
    if producers.end >= end:  # after a clean shutdown: not even an index is read
        return
    for segment in _from(segments, producers.end):
        for position, header in segment.batches_from(producers.end):
            if header.base_offset >= end:
                break
            if header.producer_id >= 0:
                control = _control(segment, position, header) if header.attributes & CONTROL else None
                producers.note(header, header.base_offset, control)
    producers.end = end


def replay_epochs(segments: Sequence[Segment], epochs: LeaderEpochs, start: Offset) -> None:
    """Learn the epochs of the batches from `start` on."""
    for segment in _from(segments, start):
        for _, header in segment.batches_from(start):
            if header.leader_epoch > epochs.latest:
                epochs.assign(header.leader_epoch, header.base_offset)


def _from(segments: Sequence[Segment], offset: Offset) -> list[Segment]:
    """The segments that hold batches at or above `offset`."""
    ends = [*(segment.base for segment in segments[1:]), None]
    pairs = zip(segments, ends, strict=True)
    return [segment for segment, end in pairs if segment.size and (end is None or end > offset)]


def _control(segment: Segment, position: int, header: BatchHeader) -> Control | None:
    try:
        return read_control(segment.read_batch(position, header))
    except KafkaError:
        return None  # a kind of control batch that only a later version knows
