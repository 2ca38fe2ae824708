"""A chunk of neighbouring offsets: a bit for each offset in each set of states.

A record is in at most one of done, held, scheduled, delayed and archiving; in none, it is available, and was
delivered as often as its count says. The chunk size is measured (`benches/shares.py`): larger chunks save
objects, smaller ones make a single acknowledgement cheaper.
"""

from tidelog.shares.bitsets import BitSet, DeliveryCounts

CHUNK_SHIFT = 11
CHUNK_RECORDS = 1 << CHUNK_SHIFT
IN_CHUNK = CHUNK_RECORDS - 1
"""`offset & IN_CHUNK` is the offset's bit, `offset >> CHUNK_SHIFT` the number of its chunk."""
FULL: BitSet = (1 << CHUNK_RECORDS) - 1


class Chunk:
    __slots__ = (
        "archived",
        "archiving",
        "counts",
        "delayed",
        "done",
        "held",
        "rejected",
        "scheduled",
        "unavailable",
        "unsaved",
    )

    def __init__(self) -> None:
        self.done: BitSet = 0
        """Acknowledged or archived."""
        self.archived: BitSet = 0
        """Those of `done` that were not accepted."""
        self.held: BitSet = 0
        self.scheduled: BitSet = 0
        self.delayed: BitSet = 0
        self.archiving: BitSet = 0
        self.rejected: BitSet = 0
        """Those of `archiving` that a member rejected. Only in memory, for the reason in the dead letter."""
        self.unavailable: BitSet = 0
        """The union of done, held, scheduled, delayed and archiving."""
        self.unsaved: BitSet = 0
        self.counts = DeliveryCounts()


def _done() -> Chunk:
    chunk = Chunk()
    chunk.done = chunk.unavailable = FULL
    return chunk


DONE = _done()
"""Stands for every chunk that is done and saved as a whole. Nothing in it can change."""
