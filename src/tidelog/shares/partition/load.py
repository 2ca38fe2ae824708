"""A window from stored state, some state batches at a time: a state may have half a million of them.

Records that were held when the old leader stopped are available again. Offsets at or above the end of the log
are left out: after an unclean election their records are gone, and others get their offsets.
"""

from collections.abc import Iterable, Iterator

from tidelog.base.ids import Offset
from tidelog.base.invariant import invariant
from tidelog.shares.bitsets import BitSet
from tidelog.shares.partition.chunk import CHUNK_RECORDS, IN_CHUNK
from tidelog.shares.partition.delays import Delay, Delays
from tidelog.shares.partition.window import Window
from tidelog.shares.states import AT_ONCE, DeliveryState, ShareState, StateBatch

PIECE_RECORDS = 4 * CHUNK_RECORDS
"""A batch of more records comes in pieces, as it costs as much as many batches."""


class StateLoad:
    """A write of dead letters that had records beyond the end of the log is not repeated: its other records
    are written anew, maybe for the second time."""

    __slots__ = ("_log_end", "_next_first", "delays", "is_beyond_log", "state", "window")

    def __init__(self, state: ShareState, log_end: Offset | None = None) -> None:
        """`state` need not have the batches."""
        start, begun = state.start_offset, state.dead_letters
        invariant(start >= 0, "a share partition needs a start offset", offset=start)
        self.is_beyond_log = False
        """Something was left out."""
        if log_end is not None and start > log_end:
            start, self.is_beyond_log = log_end, True
        if log_end is not None and begun is not None and begun.offsets[-1][1] >= log_end:
            begun, self.is_beyond_log = None, True
        self.state = ShareState(state.state_epoch, start, dead_letters=begun)
        self.window = Window(start)
        self.delays = Delays()
        self._next_first = start
        self._log_end = log_end

    @property
    def done(self) -> int:
        """Records from the stored start offset on that never come again."""
        return self.window.start - self.state.start_offset + self.window.done

    def put(self, batches: Iterable[StateBatch]) -> None:
        """Batches ascend, also from call to call."""
        window, log_end = self.window, self._log_end
        for stored_first, stored_last, state, count, available_at in batches:
            first, last = max(stored_first, self._next_first), stored_last
            if log_end is not None and last >= log_end:
                last, self.is_beyond_log = log_end - 1, True
            if first > last:
                continue
            is_delayed = available_at != AT_ONCE and state is DeliveryState.AVAILABLE
            if is_delayed:
                self.delays.load(Delay(available_at, first, last))
            for index, bits in window.parts(first, last):
                self._put(index, bits, state, count, is_delayed=is_delayed)
                if bits >> IN_CHUNK:  # nothing of this chunk follows
                    window.collapse(index)
            self._next_first = last + 1
        window.extend(self._next_first)
        window.advance()

    def _put(self, index: int, bits: BitSet, state: DeliveryState, count: int, *, is_delayed: bool) -> None:
        window = self.window
        chunk = window.chunk(index)
        records = bits.bit_count()
        if count:
            chunk.counts.put(bits, count)
        if state in (DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED):
            chunk.done |= bits
            if state is DeliveryState.ARCHIVED:
                chunk.archived |= bits
            window.done += records
        elif state is DeliveryState.ARCHIVING:
            chunk.archiving |= bits
            window.archiving += records
        elif is_delayed:
            chunk.delayed |= bits
            window.delayed += records
        else:
            return
        chunk.unavailable |= bits


def in_pieces(batches: Iterable[StateBatch]) -> Iterator[StateBatch]:
    """Splits large batches at the borders of chunks, so that each costs about the same."""
    for batch in batches:
        first, last = batch.first_offset, batch.last_offset
        while last - first >= PIECE_RECORDS:
            end = first | (PIECE_RECORDS - 1)
            yield batch._replace(first_offset=first, last_offset=end)
            first = end + 1
        yield batch._replace(first_offset=first) if first != batch.first_offset else batch
