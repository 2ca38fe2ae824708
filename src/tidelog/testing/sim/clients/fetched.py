"""What is in an answer to a fetch: batches, without those of transactions that were taken back."""

from collections.abc import Iterator
from typing import NamedTuple

from tidelog.wire.batch import iter_batches
from tidelog.wire.messages.fetch import PartitionData
from tidelog.wire.record import ControlType, Record, read_control, read_records


class FetchedBatch(NamedTuple):
    end: int
    records: list[Record]
    """None of a marker, nor of an aborted transaction where only committed ones are wanted."""


def batches(data: PartitionData, *, committed_only: bool) -> Iterator[FetchedBatch]:
    view = memoryview(data.records or b"")  # type: ignore[arg-type]  # decoded answers hold no file slices
    aborted = sorted(data.aborted_transactions or (), key=lambda one: one.first_offset)
    open_aborted: set[int] = set()
    for position, header in iter_batches(view):
        while aborted and aborted[0].first_offset <= header.last_offset:
            open_aborted.add(aborted.pop(0).producer_id)
        batch = view[position : position + header.size]
        if header.is_control:
            control = read_control(batch)
            if control is not None and control.type == ControlType.ABORT:
                open_aborted.discard(header.producer_id)
            yield FetchedBatch(header.next_offset, [])
        elif committed_only and header.is_transactional and header.producer_id in open_aborted:
            yield FetchedBatch(header.next_offset, [])
        else:
            yield FetchedBatch(header.next_offset, read_records(batch))
