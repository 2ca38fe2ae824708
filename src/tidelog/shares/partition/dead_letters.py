"""Undeliverable records on their way to the dead-letter topic, in offset order, one write at a time."""

from collections.abc import Sequence
from typing import NamedTuple

from tidelog.base.ids import Offset
from tidelog.shares.bitsets import BitSet, lowest, smallest
from tidelog.shares.bitsets import runs as runs_of
from tidelog.shares.partition.chunk import CHUNK_RECORDS
from tidelog.shares.partition.window import Window


class Undeliverable(NamedTuple):
    """Neighbouring records with the same reason."""

    first: Offset
    last: Offset
    delivery_count: int
    rejected: bool
    """By a member. Otherwise their deliveries failed too often; after a change of the leader, every record
    counts as such if it was delivered often enough."""


def first_archiving(window: Window, records_max: int) -> list[tuple[Offset, Offset]]:
    """Returns the first undeliverable records as runs."""
    ranges: list[tuple[Offset, Offset]] = []
    room = records_max
    if window.archiving == 0:
        return ranges
    for index in sorted(window.chunks):
        bits = window.chunks[index].archiving
        if bits and room > 0:
            bits = smallest(bits, room)
            room -= bits.bit_count()
            base = index * CHUNK_RECORDS
            for first, last in runs_of(bits):
                if ranges and ranges[-1][1] + 1 == base + first:
                    ranges[-1] = (ranges[-1][0], base + last)
                else:
                    ranges.append((base + first, base + last))
    return ranges


def first_archiving_from(window: Window, first: Offset, last: Offset) -> Offset | None:
    """Returns the first undeliverable record within these offsets."""
    if window.archiving == 0 or first > last:
        return None
    for index in sorted(window.chunks):
        base = index * CHUNK_RECORDS
        if base + CHUNK_RECORDS > first and (bits := window.chunks[index].archiving):
            bits &= -1 << max(0, first - base)
            if bits:
                at = base + lowest(bits)
                return at if at <= last else None
    return None


def archive(window: Window, ranges: tuple[tuple[Offset, Offset], ...]) -> None:
    """Turns these undeliverable records into archived ones. Records that retention took meanwhile are left
    out."""
    for first, last in ranges:
        for index, bits in window.parts(first, last):
            archiving = _archiving(window, index, bits)
            if archiving:
                window.archive(index, archiving)


def reasons(
    window: Window, ranges: Sequence[tuple[Offset, Offset]], delivery_count_limit: int
) -> list[Undeliverable]:
    """Returns why the undeliverable records among these are so, ascending."""
    found: list[Undeliverable] = []
    for first, last in ranges:
        for index, bits in window.parts(first, last):
            archiving = _archiving(window, index, bits)
            if not archiving:
                continue
            chunk, base = window.chunks[index], index * CHUNK_RECORDS
            in_chunk = [
                Undeliverable(base + begin, base + end, count, rejected or count < delivery_count_limit)
                for rejected, part in (
                    (True, archiving & chunk.rejected),
                    (False, archiving & ~chunk.rejected),
                )
                for begin, end, count in chunk.counts.runs(part)
            ]
            found += sorted(in_chunk)
    return found


def _archiving(window: Window, index: int, bits: BitSet) -> BitSet:
    chunk = window.chunks.get(index)
    return 0 if chunk is None else bits & chunk.archiving
