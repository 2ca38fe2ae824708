"""The records in the answer to a ShareFetch: those that the broker locked for this member, and no others.

A batch comes whole, also where few of its records are locked: the batches that were read last are kept, since
the next fetch often brings them again. A locked offset without a record was compacted away, or belongs to a
marker; the broker is to know that there is nothing.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from tidelog.base.errors import KafkaError
from tidelog.clients.log import LOG
from tidelog.wire.batch import BatchHeader, iter_batches
from tidelog.wire.messages.share_fetch import PartitionData, ShareFetchResponse
from tidelog.wire.record import read_records
from tidelog.wire.record_body import Record

KEPT_BYTES_MAX = 8 << 20
"""Of batches as they came; decoded they take some times that."""

PartitionKey: TypeAlias = tuple[bytes, int]
"""Topic id and partition."""


class DeliveredRecord(NamedTuple):
    record: Record
    delivery_count: int
    is_log_append_time: bool


class DeliveredRecords(NamedTuple):
    records: list[DeliveredRecord]
    gaps: list[int]
    """Locked offsets without a record."""
    unreadable: list[int]
    """Locked offsets in a batch that this client cannot read."""


class ReadBatch(NamedTuple):
    crc: int
    size: int
    records: Mapping[int, Record] | None
    """By offset; None where the batch cannot be read."""
    is_log_append_time: bool
    offsets: range


class RecordReader:
    """Belongs to one connection."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[PartitionKey, int], ReadBatch] = OrderedDict()
        self._kept_bytes = 0

    def read(self, answer: ShareFetchResponse) -> dict[PartitionKey, DeliveredRecords]:
        return {
            (topic.topic_id, data.partition_index): self._of_partition(topic.topic_id, data)
            for topic in answer.responses
            for data in topic.partitions
            if data.acquired_records
        }

    def _of_partition(self, topic_id: bytes, data: PartitionData) -> DeliveredRecords:
        view = memoryview(data.records or b"")  # type: ignore[arg-type]  # decoded answers hold no file slices
        key = topic_id, data.partition_index
        batches = [
            self._batch(key, view[position : position + header.size], header)
            for position, header in iter_batches(view)
            if not header.is_control
        ]
        found = DeliveredRecords([], [], [])
        remaining = iter(batches)
        batch = next(remaining, None)
        for offset, delivery_count in _locked(data):
            while batch is not None and offset >= batch.offsets.stop:
                batch = next(remaining, None)
            if batch is None or offset < batch.offsets.start:
                found.gaps.append(offset)
            elif batch.records is None:
                found.unreadable.append(offset)
            elif (record := batch.records.get(offset)) is None:
                found.gaps.append(offset)
            else:
                found.records.append(DeliveredRecord(record, delivery_count, batch.is_log_append_time))
        return found

    def _batch(self, key: PartitionKey, view: memoryview, header: BatchHeader) -> ReadBatch:
        place = key, header.base_offset
        kept = self._kept.get(place)
        if kept is not None and (kept.crc, kept.size) == (header.crc, header.size):
            self._kept.move_to_end(place)
            return kept
        records: dict[int, Record] | None
        try:
            records = {record.offset: record for record in read_records(view)}
        except KafkaError as error:
            LOG.error("partition %d: the batch at %d cannot be read: %s", key[1], header.base_offset, error)
            records = None
        batch = ReadBatch(
            header.crc,
            header.size,
            records,
            header.is_log_append_time,
            range(header.base_offset, header.last_offset + 1),
        )
        self._keep(place, batch)
        return batch

    def _keep(self, place: tuple[PartitionKey, int], batch: ReadBatch) -> None:
        before = self._kept.pop(place, None)
        self._kept_bytes += batch.size - (before.size if before is not None else 0)
        self._kept[place] = batch
        while self._kept_bytes > KEPT_BYTES_MAX and self._kept:
            _, dropped = self._kept.popitem(last=False)
            self._kept_bytes -= dropped.size


def _locked(data: PartitionData) -> Iterator[tuple[int, int]]:
    for acquired in data.acquired_records:
        for offset in range(acquired.first_offset, acquired.last_offset + 1):
            yield offset, acquired.delivery_count
