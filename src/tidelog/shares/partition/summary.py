"""What a share partition looks like to an operator: how often records were delivered, and which member holds
how many. The cost follows the chunks of the window and the locks, not the records.
"""

from typing import NamedTuple

from tidelog.shares.bitsets import BitSet
from tidelog.shares.partition.chunk import CHUNK_SHIFT, DONE, FULL, IN_CHUNK
from tidelog.shares.partition.locks import Locks
from tidelog.shares.partition.window import Window


class Holder(NamedTuple):
    records: int
    next_deadline: float
    """When the first of its locks ends, in monotonic seconds."""


def delivery_counts(window: Window) -> dict[int, int]:
    """Returns how many unfinished records were delivered how often; those that never were are left out."""
    found: dict[int, int] = {}
    for index, chunk in window.chunks.items():
        if chunk is DONE or not chunk.counts.planes:
            continue
        unfinished = _inside(window, index) & ~chunk.done
        if not unfinished:
            continue
        for count, bits in chunk.counts.groups(unfinished):
            if count:
                found[count] = found.get(count, 0) + bits.bit_count()
    return dict(sorted(found.items()))


def holders(locks: Locks) -> dict[str, Holder]:
    """Returns which members hold records, by their ids."""
    records: dict[str, int] = {}
    deadlines: dict[str, float] = {}
    for lock in locks:
        member_id, deadline = lock.member_id, lock.deadline
        if member_id not in records:
            records[member_id], deadlines[member_id] = lock.records, deadline
        else:
            records[member_id] += lock.records
            deadlines[member_id] = min(deadlines[member_id], deadline)
    return {member_id: Holder(count, deadlines[member_id]) for member_id, count in records.items()}


def _inside(window: Window, index: int) -> BitSet:
    """The bits of a chunk that are in the window."""
    bits = FULL
    if index == window.start >> CHUNK_SHIFT:
        bits &= ~((1 << (window.start & IN_CHUNK)) - 1)
    if index == window.end >> CHUNK_SHIFT:
        bits &= (1 << (window.end & IN_CHUNK)) - 1
    elif index > window.end >> CHUNK_SHIFT:
        bits = 0
    return bits
