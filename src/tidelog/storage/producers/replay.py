"""Rebuilding what the batches of a log imply: the state of producers, and leader epochs."""

from collections.abc import Sequence

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Offset
from tidelog.storage.leader_epochs import LeaderEpochs
from tidelog.storage.producers.producers import EndedTransaction, Producers
from tidelog.storage.segment.segment import Segment
from tidelog.storage.segment.transaction_index import Aborted
from tidelog.wire.batch import CONTROL, BatchHeader
from tidelog.wire.record import Control, read_control

_FAR_AWAY: Offset = 2**63 - 1


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


def replay_aborted(segments: Sequence[Segment], producers: Producers, base: Offset) -> list[Aborted]:
    """The aborted transactions whose markers are in the segment that begins at `base`.

    `producers` as they were there or before.
    """
    replay([segment for segment in segments if segment.base < base], producers, base)
    producers.ended.clear()
    [segment] = [segment for segment in segments if segment.base == base]
    replay([segment], producers, _FAR_AWAY)
    return [aborted_of(ended) for ended in producers.ended if ended.aborted]


def aborted_of(ended: EndedTransaction) -> Aborted:
    return Aborted(ended.producer_id, ended.first, ended.last, ended.stable)


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
