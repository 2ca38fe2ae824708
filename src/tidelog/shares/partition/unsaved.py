"""What the next save writes: unsaved records as few absolute state batches."""

from typing import NamedTuple

from tidelog.base.ids import Offset
from tidelog.shares.bitsets import BitSet
from tidelog.shares.partition.chunk import CHUNK_RECORDS, CHUNK_SHIFT, IN_CHUNK, Chunk
from tidelog.shares.partition.delays import Delay, Delays
from tidelog.shares.partition.window import Window
from tidelog.shares.states import DeadLetterWrite, DeliveryState, StateBatch


class Unsaved(NamedTuple):
    version: int
    start_offset: Offset
    batches: tuple[StateBatch, ...]
    delivery_complete_count: int
    """Records from the start offset on that are done: the lag of the group is less by them."""
    dead_letters: DeadLetterWrite | None
    chunks: dict[int, BitSet]
    """The records of the batches, to mark them again if the save fails."""
    delays: list[Delay]


def take_unsaved(
    window: Window, delays: Delays, version: int, dead_letters: DeadLetterWrite | None
) -> Unsaved:
    """Returns everything unsaved; it counts as saved from now on."""
    chunks = {}
    for index in sorted(window.unsaved):
        chunk = window.chunks[index]
        bits, chunk.unsaved = chunk.unsaved, 0
        if index == window.start >> CHUNK_SHIFT:
            bits &= -1 << (window.start & IN_CHUNK)
        if bits:
            chunks[index] = bits
    window.unsaved.clear()
    taken = delays.take_unsaved()
    delayed = _delayed(window, chunks, taken)
    batches: list[StateBatch] = []
    for index, bits in chunks.items():
        in_chunk = _batches(index * CHUNK_RECORDS, window.chunks[index], bits)
        in_chunk += delayed.get(index, ())
        in_chunk.sort()
        for batch in in_chunk:
            _append(batches, batch)
    return Unsaved(version, window.start, tuple(batches), window.done, dead_letters, chunks, taken)


def _batches(base: Offset, chunk: Chunk, bits: BitSet) -> list[StateBatch]:
    """Returns the batches of all but delayed records."""
    done = bits & chunk.done
    archived = done & chunk.archived
    batches = _in_state(base, chunk, done ^ archived, DeliveryState.ACKNOWLEDGED)
    batches += _in_state(base, chunk, archived, DeliveryState.ARCHIVED)
    if done != bits:
        held = bits & chunk.held
        archiving = bits & chunk.archiving
        available = bits & ~(done | held | archiving | chunk.delayed)
        batches += _in_state(base, chunk, archiving, DeliveryState.ARCHIVING)
        batches += _in_state(base, chunk, available, DeliveryState.AVAILABLE)
        # Acquiring is not saved: a held record is stored as it was before.
        batches += [
            batch._replace(delivery_count=batch.delivery_count - 1)
            for batch in _in_state(base, chunk, held, DeliveryState.AVAILABLE)
        ]
    return batches


def _in_state(base: Offset, chunk: Chunk, bits: BitSet, state: DeliveryState) -> list[StateBatch]:
    return [
        StateBatch(base + first, base + last, state, count) for first, last, count in chunk.counts.runs(bits)
    ]


def _delayed(window: Window, chunks: dict[int, BitSet], delays: list[Delay]) -> dict[int, list[StateBatch]]:
    """Returns the batches of delayed records, by their chunks."""
    found: dict[int, list[StateBatch]] = {}
    left = {
        index: delayed for index, bits in chunks.items() if (delayed := bits & window.chunks[index].delayed)
    }
    for available_at, first, last in reversed(delays):  # of two delays of a record, the later holds
        for index, bits in window.parts(first, last):
            claimed = bits & left.get(index, 0)
            if claimed:
                left[index] ^= claimed
                base = index * CHUNK_RECORDS
                found.setdefault(index, []).extend(
                    StateBatch(base + begin, base + end, DeliveryState.AVAILABLE, count, available_at)
                    for begin, end, count in window.chunks[index].counts.runs(claimed)
                )
    return found


def _append(batches: list[StateBatch], batch: StateBatch) -> None:
    """Adds a batch, joined with the one before where both say the same of neighbours."""
    if batches:
        before = batches[-1]
        if before.last_offset + 1 == batch.first_offset and before[2:] == batch[2:]:
            batches[-1] = before._replace(last_offset=batch.last_offset)
            return
    batches.append(batch)
