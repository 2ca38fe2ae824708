"""Records out of an answer: only those that are locked, each batch read once, damage told from absence."""

import pytest

from tidelog.clients.queue import delivered
from tidelog.clients.queue.delivered import DeliveredRecords, RecordReader
from tidelog.wire.compression import Codec
from tidelog.wire.messages.share_fetch import (
    AcquiredRecords,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)
from tidelog.wire.record import ControlType, write_batch, write_control_batch
from tidelog.wire.record_body import Record

ID = b"i" * 16


def batch(first: int, count: int, **more: int) -> bytes:
    records = [Record(first + each, 9, b"k", b"%d" % (first + each)) for each in range(count)]
    return bytes(write_batch(records, base_offset=first, **more))


def read(reader: RecordReader, data: bytes, *locked: tuple[int, int, int]) -> DeliveredRecords:
    acquired = [
        AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)
        for first, last, count in locked
    ]
    part = PartitionData(partition_index=0, records=memoryview(data), acquired_records=acquired)
    topic = ShareFetchableTopicResponse(topic_id=ID, partitions=[part])
    return reader.read(ShareFetchResponse(responses=[topic]))[ID, 0]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_only_locked_records_are_delivered(codec: int) -> None:
    data = batch(0, 5, codec=codec) + batch(5, 5, codec=codec)
    found = read(RecordReader(), data, (1, 2, 1), (4, 6, 3))
    assert [(each.record.offset, each.record.value, each.delivery_count) for each in found.records] == [
        (1, b"1", 1),
        (2, b"2", 1),
        (4, b"4", 3),
        (5, b"5", 3),
        (6, b"6", 3),
    ]
    assert not found.gaps
    assert not found.unreadable


def test_markers_and_compacted_offsets_are_gaps() -> None:
    marker = write_control_batch(
        ControlType.COMMIT, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=1, base_offset=2
    )
    data = batch(0, 2) + bytes(marker) + batch(4, 1)
    found = read(RecordReader(), data, (0, 5, 1))
    assert [each.record.offset for each in found.records] == [0, 1, 4]
    assert found.gaps == [2, 3, 5]


def test_a_batch_that_cannot_be_read_is_told_from_one_that_is_not_there() -> None:
    damaged = bytearray(batch(0, 2, codec=Codec.GZIP))
    damaged[-8:] = b"\xff" * 8
    found = read(RecordReader(), bytes(damaged) + batch(2, 1), (0, 3, 1))
    assert found.unreadable == [0, 1]
    assert [each.record.offset for each in found.records] == [2]
    assert found.gaps == [3]


def test_a_batch_that_comes_again_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    inner = delivered.read_records
    monkeypatch.setattr(delivered, "read_records", lambda view: calls.append(len(view)) or inner(view))
    reader = RecordReader()
    data = batch(0, 10)
    assert [read(reader, data, (each, each, 1)).records[0].record.offset for each in range(10)] == [
        *range(10)
    ]
    assert len(calls) == 1
    other = bytes(write_batch([Record(0, 9, None, b"another log")], base_offset=0))
    assert read(reader, other, (0, 0, 1)).records[0].record.value == b"another log"
    assert len(calls) == 2


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivered, "KEPT_BYTES_MAX", 1000)
    reader = RecordReader()
    for number in range(100):
        read(reader, batch(number * 10, 10), (number * 10, number * 10 + 9, 1))
        assert reader._kept_bytes <= 1000
    assert reader._kept_bytes == sum(each.size for each in reader._kept.values())
