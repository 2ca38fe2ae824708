import pytest

from tidelog.base.errors import StorageError
from tidelog.storage.producers import snapshot as producer_snapshot
from tidelog.storage.producers.producers import Producer, Producers, WrittenBatch
from tidelog.storage.producers.snapshot_files import ProducerSnapshotFiles
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import read_header
from tidelog.wire.record import Record, write_batch


def some_producers() -> Producers:
    producers = Producers(end=40)
    first = Producer(epoch=3, coordinator_epoch=5, last_timestamp=1_000, txn_first=30)
    first.batches.append(WrittenBatch(last_sequence=8, last_offset=31, offset_delta=1, timestamp=1_000))
    producers.put(7, first)
    producers.put(8, Producer(epoch=1, coordinator_epoch=2, last_timestamp=900))
    return producers


def test_bytes_are_kafkas() -> None:
    raw = producer_snapshot.encode(some_producers())
    assert raw[:2] == b"\x00\x01"
    assert raw[6:10] == b"\x00\x00\x00\x02"
    assert len(raw) == 10 + 2 * 46
    assert raw[10:56] == bytes.fromhex(
        "0000000000000007 0003 00000008 000000000000001f 00000001 00000000000003e8 00000005 000000000000001e"
    )


def test_round_trip_keeps_the_last_batch_and_the_open_transaction() -> None:
    again = producer_snapshot.decode(producer_snapshot.encode(some_producers()), 40, "file")
    assert again.end == 40
    first, second = again.get(7), again.get(8)
    assert first is not None
    assert second is not None
    assert (first.epoch, first.last_sequence, first.txn_first, first.coordinator_epoch) == (3, 8, 30, 5)
    assert first.batches == [WrittenBatch(8, 31, 1, 1_000)]
    assert second.batches == []
    assert second.last_timestamp == 900


def test_every_flipped_bit_and_every_truncation_is_noticed() -> None:
    raw = producer_snapshot.encode(some_producers())
    for position in range(len(raw)):
        for bit in range(8):
            flipped = bytearray(raw)
            flipped[position] ^= 1 << bit
            with pytest.raises(StorageError, match="the-file"):
                producer_snapshot.decode(bytes(flipped), 40, "the-file")
        with pytest.raises(StorageError, match="the-file"):
            producer_snapshot.decode(raw[:position], 40, "the-file")


def test_the_newest_good_snapshot_is_loaded_and_bad_ones_go() -> None:
    disk = MemoryDisk()
    disk.make_dirs("/p")
    files = ProducerSnapshotFiles(disk, "/p", [])
    for end in (10, 20, 30):
        producers = some_producers()
        producers.end = end
        files.take(producers)
    disk.flip_bit(files.path(30), 20)
    assert files.load(0, 35).end == 20
    assert files.offsets == [10, 20]
    assert disk.names("/p") == ["00000000000000000010.snapshot", "00000000000000000020.snapshot"]


def test_snapshots_outside_of_the_log_are_removed() -> None:
    disk = MemoryDisk()
    disk.make_dirs("/p")
    files = ProducerSnapshotFiles(disk, "/p", [])
    for end in (10, 20, 30):
        producers = some_producers()
        producers.end = end
        files.take(producers)
    loaded = files.load(15, 25)
    assert loaded.end == 20
    assert files.offsets == [20]
    assert len(files.load(21, 25)) == 0


def test_only_those_at_segments_and_the_newest_are_kept() -> None:
    disk = MemoryDisk()
    disk.make_dirs("/p")
    files = ProducerSnapshotFiles(disk, "/p", [])
    for end in (10, 20, 30, 40):
        producers = some_producers()
        producers.end = end
        files.take(producers)
    files.drop_between_segments([0, 20])
    assert files.offsets == [20, 40]


def test_retries_of_all_remembered_batches_are_known_after_a_restart() -> None:
    """A client has five requests in flight: after a clean restart each of them may come again."""
    producers = Producers()
    for number in range(7):
        records = [Record(0, 1000, None, b"x", [])]
        batch = write_batch(records, producer_id=7, producer_epoch=2, base_sequence=number)
        producers.note(read_header(batch), number)
    again = producer_snapshot.decode(producer_snapshot.encode(producers), 7, "p")
    for number in range(2, 7):
        batch = write_batch(
            [Record(0, 1000, None, b"x", [])], producer_id=7, producer_epoch=2, base_sequence=number
        )
        found = again.check(read_header(batch))
        assert found is not None
        assert found.base == number
    assert len(again) == 1
