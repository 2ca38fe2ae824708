"""Which available records an acquisition takes. Records near their last delivery come in smaller batches."""

from typing import NamedTuple

from tidelog.base.ids import Offset
from tidelog.shares.bitsets import BitSet, lowest, smallest, span
from tidelog.shares.partition.chunk import CHUNK_RECORDS
from tidelog.shares.partition.limits import Limits
from tidelog.shares.partition.window import Window


class Acquired(NamedTuple):
    """Neighbouring records that a member holds from now on."""

    first: Offset
    last: Offset
    delivery_count: int
    """With this delivery."""


class Piece(NamedTuple):
    """A run of available records in one chunk, which were delivered equally often."""

    chunk: int
    first: int
    last: int
    delivery_count: int
    """Before this delivery."""

    @property
    def bits(self) -> BitSet:
        return span(self.first, self.last)


def choose(window: Window, first: Offset, last: Offset, records_max: int, limits: Limits) -> list[Piece]:
    """Returns the pieces to take, ascending, with `records_max` records or fewer.

    Records that were delivered often, half of the limit at least, come without others, fewer with each
    delivery, and in their last delivery alone: in the end a record that crashes its worker takes no other
    along.
    """
    chosen: list[Piece] = []
    room = records_max
    throttled_count = limits.throttled_count
    for index, bits in window.parts(first, last):
        free = window.available_in(index, bits)
        if not free:
            continue
        chunk = window.chunks.get(index)
        new = [(lowest(free), free.bit_length() - 1, 0)]
        for begin, end, count in new if chunk is None else chunk.counts.runs(smallest(free, room)):
            if not chosen:
                if count >= throttled_count:
                    room = _throttled(records_max, count, limits)
            elif (
                count != chosen[0].delivery_count and max(count, chosen[0].delivery_count) >= throttled_count
            ):
                return chosen
            piece = Piece(index, begin, min(end, begin + room - 1), count)
            chosen.append(piece)
            room -= piece.last - piece.first + 1
            if room == 0:
                return chosen
    return chosen


def acquired(pieces: list[Piece]) -> list[Acquired]:
    """Joins pieces that meet at the border of two chunks."""
    joined: list[Acquired] = []
    for index, begin, end, count in pieces:
        base = index * CHUNK_RECORDS
        if joined and joined[-1].last + 1 == base + begin and joined[-1].delivery_count == count + 1:
            joined[-1] = joined[-1]._replace(last=base + end)
        else:
            joined.append(Acquired(base + begin, base + end, count + 1))
    return joined


def _throttled(records_max: int, delivery_count: int, limits: Limits) -> int:
    if limits.is_last_delivery(delivery_count):
        return 1
    return max(1, records_max >> (delivery_count - limits.throttled_count + 1))
