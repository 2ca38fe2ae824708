"""A window from stored state. Records that were held when the old leader stopped are available again."""

from tidelog.base.invariant import invariant
from tidelog.shares.partition.delays import Delay, Delays
from tidelog.shares.partition.window import Window
from tidelog.shares.states import AT_ONCE, DeliveryState, ShareState, StateBatch


def load(state: ShareState, delays: Delays) -> Window:
    invariant(state.start_offset >= 0, "a share partition needs a start offset", offset=state.start_offset)
    window = Window(state.start_offset)
    next_first = state.start_offset
    for batch in state.batches:
        first = max(batch.first_offset, next_first)
        if first <= batch.last_offset:
            _load_batch(window, delays, batch._replace(first_offset=first))
            next_first = batch.last_offset + 1
    window.extend(next_first)
    for index in list(window.chunks):
        window.collapse(index)
    window.advance()
    return window


def _load_batch(window: Window, delays: Delays, batch: StateBatch) -> None:
    delayed = batch.state is DeliveryState.AVAILABLE and batch.available_at != AT_ONCE
    if delayed:
        delays.load(Delay(batch.available_at, batch.first_offset, batch.last_offset))
    for index, bits in window.parts(batch.first_offset, batch.last_offset):
        chunk = window.chunk(index)
        records = bits.bit_count()
        if batch.delivery_count:
            chunk.counts.put(bits, batch.delivery_count)
        if batch.state.is_done:
            chunk.done |= bits
            if batch.state is DeliveryState.ARCHIVED:
                chunk.archived |= bits
            window.done += records
        elif batch.state is DeliveryState.ARCHIVING:
            chunk.archiving |= bits
            window.archiving += records
        elif delayed:
            chunk.delayed |= bits
            window.delayed += records
        else:
            continue
        chunk.unavailable |= bits
