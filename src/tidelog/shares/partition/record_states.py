"""What became of single records of the window, for an operator who looks at a queue.

The cost follows the chunks and the runs of records in the same state. Runs are limited: the rest is found by
another call, with a later offset.
"""

from tidelog.base.ids import Offset
from tidelog.shares.bitsets import BitSet, runs
from tidelog.shares.partition.chunk import CHUNK_RECORDS, Chunk
from tidelog.shares.partition.delays import Delays
from tidelog.shares.partition.window import Window
from tidelog.shares.states import DeliveryState, StateBatch

RUNS_MAX = 1_000
"""Beyond, the chunk that is begun is the last."""

TO_THE_END: Offset = -1


def record_states(window: Window, delays: Delays, first: Offset) -> tuple[list[StateBatch], Offset]:
    """Returns the states of the records from `first` on, ascending, and up to which offset they are known.

    Records that are in none are available and were not delivered. Scheduled records are among them: when they
    are due is in the records, not in the window.
    """
    found: list[StateBatch] = []
    delayed_runs = 0
    to = TO_THE_END
    for index, bits in window.parts(first, window.end - 1):
        if len(found) + delayed_runs >= RUNS_MAX:
            to = index * CHUNK_RECORDS
            break
        chunk = window.chunks.get(index)
        if chunk is not None:
            found += _of_chunk(index * CHUNK_RECORDS, chunk, bits)
            delayed_runs += len(runs(chunk.delayed & bits))
    if delayed_runs:
        found += _delayed(window, delays, first, window.end - 1 if to == TO_THE_END else to - 1)
    found.sort()
    return found, to


def _of_chunk(base: Offset, chunk: Chunk, bits: BitSet) -> list[StateBatch]:
    """All but delayed records."""
    archived = chunk.done & chunk.archived
    sets = (
        (DeliveryState.ACKNOWLEDGED, chunk.done ^ archived),
        (DeliveryState.ARCHIVED, archived),
        (DeliveryState.ARCHIVING, chunk.archiving),
        (DeliveryState.ACQUIRED, chunk.held),
        (DeliveryState.AVAILABLE, ~chunk.unavailable),
    )
    return [
        StateBatch(base + first, base + last, state, count)
        for state, of_state in sets
        for first, last, count in chunk.counts.runs(of_state & bits)
        if count or state is not DeliveryState.AVAILABLE
    ]


def _delayed(window: Window, delays: Delays, first: Offset, last: Offset) -> list[StateBatch]:
    found = []
    for delay in delays.within(first, last):
        for index, bits in window.parts(max(first, delay.first), min(last, delay.last)):
            chunk = window.chunks.get(index)
            if chunk is not None:
                base = index * CHUNK_RECORDS
                found += [
                    StateBatch(base + begin, base + end, DeliveryState.AVAILABLE, count, delay.available_at)
                    for begin, end, count in chunk.counts.runs(bits & chunk.delayed)
                ]
    return found
