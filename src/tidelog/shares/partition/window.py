"""The window: the states of the records from the start offset up to the end, as chunks of bit sets.

Each method moves bits of one chunk from one state to another, and keeps the number of records in each state.
Callers pass only bits that are in the state that the method begins from. A chunk that is missing was not
touched: its records are available.
"""

from tidelog.base.ids import Offset
from tidelog.shares.bitsets import BitSet, ones_from, span
from tidelog.shares.partition.chunk import CHUNK_RECORDS, CHUNK_SHIFT, DONE, FULL, IN_CHUNK, Chunk


class Window:
    def __init__(self, start: Offset) -> None:
        self.start = start
        self.end = start
        """Exclusive: the first offset that nothing was decided on."""
        self.chunks: dict[int, Chunk] = {}
        self.held = 0
        self.scheduled = 0
        self.delayed = 0
        self.archiving = 0
        self.done = 0
        self.unsaved: set[int] = set()
        """Chunks with unsaved records."""
        self._all_taken_below = start
        """No record below is available."""

    @property
    def available(self) -> int:
        taken = self.done + self.held + self.scheduled + self.delayed + self.archiving
        return self.end - self.start - taken

    def parts(self, first: Offset, last: Offset) -> list[tuple[int, BitSet]]:
        """Returns the numbers of the chunks of these offsets, each with the offsets' bits; offsets below the
        start are left out."""
        first = max(first, self.start)
        if first > last:
            return []
        begin, end = first >> CHUNK_SHIFT, last >> CHUNK_SHIFT
        if begin == end:
            return [(begin, span(first & IN_CHUNK, last & IN_CHUNK))]
        return [
            (begin, FULL - ((1 << (first & IN_CHUNK)) - 1)),
            *((index, FULL) for index in range(begin + 1, end)),
            (end, (2 << (last & IN_CHUNK)) - 1),
        ]

    def chunk(self, index: int) -> Chunk:
        chunk = self.chunks.get(index)
        if chunk is None:
            chunk = self.chunks[index] = Chunk()
        return chunk

    def available_in(self, index: int, bits: BitSet) -> BitSet:
        chunk = self.chunks.get(index)
        return bits if chunk is None else bits & ~chunk.unavailable

    def next_available(self) -> Offset:
        """Returns the first available offset; the window's end if all records in it are taken."""
        at = max(self._all_taken_below, self.start)
        while at < self.end:
            chunk = self.chunks.get(at >> CHUNK_SHIFT)
            if chunk is None:
                break
            index = at >> CHUNK_SHIFT
            at += ones_from(chunk.unavailable, at & IN_CHUNK)
            if at >> CHUNK_SHIFT == index:
                break
        self._all_taken_below = at = min(at, self.end)
        return at

    # From available

    def hold(self, index: int, bits: BitSet, records: int) -> None:
        chunk = self.chunk(index)
        chunk.held |= bits
        chunk.unavailable |= bits
        chunk.counts.add_one(bits)
        self.held += records

    def schedule(self, index: int, bits: BitSet) -> None:
        chunk = self.chunk(index)
        chunk.scheduled |= bits
        chunk.unavailable |= bits
        self.scheduled += bits.bit_count()

    def skip(self, index: int, bits: BitSet) -> None:
        chunk = self.chunk(index)
        chunk.done |= bits
        chunk.archived |= bits
        chunk.unavailable |= bits
        self.done += bits.bit_count()
        self._changed(index, chunk, bits)

    # From held

    def finish(self, index: int, bits: BitSet, records: int, *, accepted: bool) -> None:
        chunk = self.chunks[index]
        chunk.held ^= bits
        chunk.done |= bits
        if not accepted:
            chunk.archived |= bits
        self.held -= records
        self.done += records
        self._changed(index, chunk, bits)

    def begin_archiving(self, index: int, bits: BitSet, *, rejected: bool) -> None:
        chunk = self.chunks[index]
        records = bits.bit_count()
        chunk.held ^= bits
        chunk.archiving |= bits
        if rejected:
            chunk.rejected |= bits
        self.held -= records
        self.archiving += records
        self._changed(index, chunk, bits)

    def delay(self, index: int, bits: BitSet) -> None:
        chunk = self.chunks[index]
        records = bits.bit_count()
        chunk.held ^= bits
        chunk.delayed |= bits
        self.held -= records
        self.delayed += records
        self._changed(index, chunk, bits)

    def free(self, index: int, bits: BitSet) -> None:
        chunk = self.chunks[index]
        chunk.held ^= bits
        self.held -= bits.bit_count()
        self._available_again(index, chunk, bits)
        self._changed(index, chunk, bits)

    # From scheduled, delayed and archiving

    def unschedule(self, index: int, bits: BitSet) -> None:
        chunk = self.chunks[index]
        chunk.scheduled ^= bits
        self.scheduled -= bits.bit_count()
        self._available_again(index, chunk, bits)

    def wake(self, index: int, bits: BitSet) -> None:
        chunk = self.chunks[index]
        chunk.delayed ^= bits
        self.delayed -= bits.bit_count()
        self._available_again(index, chunk, bits)

    def archive(self, index: int, bits: BitSet) -> None:
        chunk = self.chunks[index]
        records = bits.bit_count()
        chunk.archiving ^= bits
        chunk.rejected &= ~bits
        chunk.done |= bits
        chunk.archived |= bits
        self.archiving -= records
        self.done += records
        self._changed(index, chunk, bits)

    # The window itself

    def extend(self, end: Offset) -> None:
        self.end = max(self.end, end)

    def advance(self) -> bool:
        """Moves the start over records that are done. Returns whether it moved."""
        start = self.start
        while start < self.end:
            index = start >> CHUNK_SHIFT
            chunk = self.chunks.get(index)
            if chunk is None:
                break
            start += ones_from(chunk.done, start & IN_CHUNK)
            if start >> CHUNK_SHIFT == index:
                break
            del self.chunks[index]
            self.unsaved.discard(index)
        moved = start - self.start
        self.done -= moved
        self.start = start
        return moved > 0

    def forget_below(self, start: Offset) -> None:
        """Moves the start over records in any state."""
        begin = start >> CHUNK_SHIFT
        below = (1 << (start & IN_CHUNK)) - 1
        old_index, old_below = self.start >> CHUNK_SHIFT, (1 << (self.start & IN_CHUNK)) - 1
        for index in [index for index in self.chunks if index <= begin]:
            chunk = self.chunks[index]
            bits = below if index == begin else FULL
            if index == old_index:
                bits &= ~old_below
            self.held -= (chunk.held & bits).bit_count()
            self.scheduled -= (chunk.scheduled & bits).bit_count()
            self.delayed -= (chunk.delayed & bits).bit_count()
            self.archiving -= (chunk.archiving & bits).bit_count()
            self.done -= (chunk.done & bits).bit_count()
            if index < begin:
                del self.chunks[index]
                self.unsaved.discard(index)
            elif chunk is not DONE:
                chunk.held &= ~bits
                chunk.scheduled &= ~bits
                chunk.delayed &= ~bits
                chunk.archiving &= ~bits
                chunk.done |= bits
                chunk.unavailable |= bits
        self.start = start
        self.extend(start)

    def forget(self, index: int, bits: BitSet) -> None:
        """Turns records in any state into done ones, but undeliverable ones."""
        chunk = self.chunk(index)
        gone = bits & ~chunk.archiving & ~chunk.done
        if not gone:
            return
        self.held -= (chunk.held & gone).bit_count()
        self.scheduled -= (chunk.scheduled & gone).bit_count()
        self.delayed -= (chunk.delayed & gone).bit_count()
        self.done += gone.bit_count()
        chunk.held &= ~gone
        chunk.scheduled &= ~gone
        chunk.delayed &= ~gone
        chunk.done |= gone
        chunk.archived |= gone
        chunk.unavailable |= gone
        self._changed(index, chunk, gone)

    def collapse(self, index: int) -> None:
        """Gives back the memory of a chunk that is done and saved as a whole."""
        chunk = self.chunks.get(index)
        if chunk is not None and chunk.done == FULL and not chunk.unsaved:
            self.chunks[index] = DONE

    def mark_unsaved(self, index: int, bits: BitSet) -> None:
        """Takes back records whose save failed."""
        chunk = self.chunks.get(index)
        if chunk is not None:
            self._changed(index, chunk, bits)

    def _changed(self, index: int, chunk: Chunk, bits: BitSet) -> None:
        chunk.unsaved |= bits
        self.unsaved.add(index)

    def _available_again(self, index: int, chunk: Chunk, bits: BitSet) -> None:
        chunk.unavailable ^= bits
        lowest_offset = index * CHUNK_RECORDS + (bits & -bits).bit_length() - 1
        self._all_taken_below = min(self._all_taken_below, lowest_offset)
