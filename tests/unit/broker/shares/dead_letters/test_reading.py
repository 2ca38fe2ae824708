"""Records for dead letters are read from wherever they lie, as far as the bytes allow, or left out."""

from typing import Any

import pytest

from tests.rigs import virtual_time
from tests.rigs.dead_letters import run_at_once
from tests.rigs.log import append, open_log
from tests.rigs.partition import sole_leader
from tidelog.broker.shares.dead_letters.reading import SLICE_BYTES, FoundRecords, read_failed
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.compression import Codec


def partition_of(**config: Any) -> Partition:
    log = open_log(MemoryDisk(), LogConfig(**config))
    return sole_leader(log, durability=Durability.OS, on_unsynced=lambda _: None)


def read(partition: Partition, offsets: list[int], bytes_max: int = 1 << 20) -> FoundRecords:
    async def run() -> FoundRecords:
        return await read_failed(partition, offsets, bytes_max, run_at_once)

    return virtual_time.run(run())


def test_records_of_several_segments_batches_and_codecs() -> None:
    partition = partition_of(segment_bytes=1 << 17)
    for number in range(40):
        codec = list(Codec)[number % 5]
        append(partition.log, [(b"%d" % (number * 10 + n), b"." * 5_000) for n in range(10)], codec=codec)
    assert len(partition.log.segments) > 1
    offsets = [0, 3, 9, 10, 155, 156, 399]
    found = read(partition, offsets)
    assert {offset: record.key for offset, record in found.records.items()} == {
        offset: b"%d" % offset for offset in offsets
    }
    assert found.covered == len(offsets)


def test_no_more_is_read_than_the_bytes_allow_but_the_first_always() -> None:
    partition = partition_of()
    for _ in range(20):
        append(partition.log, [(None, b"." * SLICE_BYTES)])
    found = read(partition, list(range(20)), bytes_max=3 * SLICE_BYTES)
    assert found.covered == 3
    assert sorted(found.records) == [0, 1, 2]
    assert read(partition, [5, 6], bytes_max=1).covered == 1


def test_what_is_gone_is_left_out() -> None:
    partition = partition_of()
    for number in range(5):
        append(partition.log, [(b"k", b"%d" % number)])
    partition.log.delete_before(2)
    found = read(partition, [0, 1, 2, 4, 7])
    assert sorted(found.records) == [2, 4]
    assert found.covered == 5


def test_a_damaged_batch_is_left_out_and_the_others_are_read() -> None:
    partition = partition_of()
    for number in range(3):
        append(partition.log, [(None, b"%d" % number * 50)])
    disk = partition.log.files.disk
    assert isinstance(disk, MemoryDisk)
    file = partition.log.segments[0].file
    disk.flip_bit(file.path, file.size() // 2)
    assert sorted(read(partition, [0, 1, 2]).records) == [0, 2]


def test_an_error_of_the_disk_is_no_missing_record() -> None:
    partition = partition_of()
    append(partition.log, [(None, b"x")])
    disk = partition.log.files.disk
    assert isinstance(disk, MemoryDisk)
    disk.fail("read", ".log")
    with pytest.raises(OSError, match="Input/output error"):
        read(partition, [0])
