"""The stored states of the records of one share partition, as bits: a write of one record costs the same in a
window of ten records and of a million.

Offsets are in chunks of bit sets, as in a share partition at work. An offset that was never stored is in no
set; once stored, it stays so until the start offset has passed it.
"""

from tidelog.base.ids import Offset, TimestampMs
from tidelog.shares.bitsets import BitSet, DeliveryCounts, runs, span
from tidelog.shares.states import AT_ONCE, DeliveryState, StateBatch

CHUNK_SHIFT = 11
CHUNK_RECORDS = 1 << CHUNK_SHIFT
IN_CHUNK = CHUNK_RECORDS - 1
FULL: BitSet = (1 << CHUNK_RECORDS) - 1


class StoredChunk:
    """A record is in at most one of done, archiving and delayed; in none, it is available."""

    __slots__ = ("archived", "archiving", "counts", "delayed", "done", "due", "stored")

    def __init__(self) -> None:
        self.stored: BitSet = 0
        self.done: BitSet = 0
        self.archived: BitSet = 0
        """Those of `done` that were not accepted."""
        self.archiving: BitSet = 0
        self.delayed: BitSet = 0
        self.counts = DeliveryCounts()
        self.due: dict[int, TimestampMs] = {}
        """When each of `delayed` is available."""

    def put(self, bits: BitSet, state: DeliveryState, count: int, due: TimestampMs) -> None:
        keep = ~bits
        self.stored |= bits
        if state.is_done:
            self.done |= bits
            self.archived = self.archived | bits if state is DeliveryState.ARCHIVED else self.archived & keep
        elif self.done & bits:
            self.done &= keep
            self.archived &= keep
        if state is DeliveryState.ARCHIVING:
            self.archiving |= bits
        elif self.archiving:
            self.archiving &= keep
        if self.delayed & bits:
            self._forget_due(self.delayed & bits)
        if due != AT_ONCE:
            self.delayed |= bits
            for first, last in runs(bits):
                self.due.update(dict.fromkeys(range(first, last + 1), due))
        self.counts.put(bits, count)

    def batches(self, base: Offset, bits: BitSet) -> list[StateBatch]:
        done = bits & self.done
        archived = done & self.archived
        archiving, delayed = bits & self.archiving, bits & self.delayed
        found: list[StateBatch] = []
        for part, state in (
            (done ^ archived, DeliveryState.ACKNOWLEDGED),
            (archived, DeliveryState.ARCHIVED),
            (archiving, DeliveryState.ARCHIVING),
            (bits & ~(done | archiving | delayed), DeliveryState.AVAILABLE),
        ):
            if part:
                found += [
                    StateBatch(base + first, base + last, state, count)
                    for first, last, count in self.counts.runs(part)
                ]
        for first, last, count in self.counts.runs(delayed):
            for number in range(first, last + 1):
                batch = StateBatch(
                    base + number, base + number, DeliveryState.AVAILABLE, count, self.due[number]
                )
                _append(found, batch)
        found.sort()
        return found

    def forget(self, bits: BitSet) -> None:
        """As if these had never been stored."""
        self.put(bits, DeliveryState.AVAILABLE, 0, AT_ONCE)
        self.stored &= ~bits

    def _forget_due(self, bits: BitSet) -> None:
        self.delayed &= ~bits
        for first, last in runs(bits):
            for number in range(first, last + 1):
                del self.due[number]


class StoredWindow:
    __slots__ = ("_chunks", "start")

    def __init__(self, start: Offset) -> None:
        self.start = start
        self._chunks: dict[int, StoredChunk] = {}

    def put(self, batch: StateBatch) -> None:
        """Replace what was known of these offsets. Offsets below the start stay gone."""
        first, last, state, count, due = batch
        first = max(first, self.start)
        while first <= last:
            index = first >> CHUNK_SHIFT
            end = min(last, first | IN_CHUNK)
            chunk = self._chunks.get(index)
            if chunk is None:
                chunk = self._chunks[index] = StoredChunk()
            chunk.put(span(first & IN_CHUNK, end & IN_CHUNK), state, count, due)
            first = end + 1

    def advance(self, start: Offset) -> None:
        """Forget the offsets below `start`. The start never goes back."""
        if start <= self.start:
            return
        begin, keep = self.start >> CHUNK_SHIFT, start >> CHUNK_SHIFT
        self.start = start
        if keep - begin <= len(self._chunks):
            for index in range(begin, keep):
                self._chunks.pop(index, None)
        else:
            self._chunks = {index: chunk for index, chunk in self._chunks.items() if index >= keep}

    def truncate(self, end: Offset) -> None:
        """Forget the offsets from `end` on: others will have them. Only here the start may go back."""
        self.start = min(self.start, end)
        border, within = end >> CHUNK_SHIFT, end & IN_CHUNK
        self._chunks = {index: chunk for index, chunk in self._chunks.items() if index <= border}
        chunk = self._chunks.get(border)
        if chunk is not None:
            chunk.forget(-1 << within & FULL)

    def batches(
        self, first: Offset | None = None, limit: int | None = None
    ) -> tuple[list[StateBatch], Offset | None]:
        """Returns batches from `first` on, ascending, and the offset to go on from if there are more.

        Without a limit it returns all; with one, up to a chunk's more.
        """
        begin = self.start if first is None else max(first, self.start)
        batches: list[StateBatch] = []
        for index in sorted(self._chunks):
            base = index << CHUNK_SHIFT
            if base + CHUNK_RECORDS <= begin:
                continue
            if limit is not None and len(batches) >= limit:
                return batches, base
            chunk = self._chunks[index]
            bits = chunk.stored
            if base < begin:
                bits &= -1 << (begin - base)
            in_chunk = chunk.batches(base, bits)
            if in_chunk:
                _append(batches, in_chunk[0])
                batches += in_chunk[1:]
        return batches, None


def _append(batches: list[StateBatch], batch: StateBatch) -> None:
    """Adds a batch, joined with the one before where both say the same of neighbours."""
    if batches:
        before = batches[-1]
        if before.last_offset + 1 == batch.first_offset and before[2:] == batch[2:]:
            batches[-1] = before._replace(last_offset=batch.last_offset)
            return
    batches.append(batch)
