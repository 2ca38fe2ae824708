"""Reading across segments of which compaction left nothing but empty batches, and batches out of place."""

import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import read_header
from tidelog.wire.record import Record, write_batch

NOW = 1_000_000
PARTITION_DIR = "/data/t-0"


def follower_log(disk: MemoryDisk, *batches: bytearray) -> PartitionLog:
    """Each batch in a segment of its own."""
    log = PartitionLog.open(disk, PARTITION_DIR, LogConfig(), now_ms=NOW)
    for batch in batches:
        log.append_as_follower(memoryview(batch), [(0, read_header(batch))], now_ms=NOW)
        log.roll(NOW)
    return log


def empty(first: int) -> bytearray:
    return write_batch([], base_offset=first, leader_epoch=0, last_offset_delta=9)


def filled(first: int) -> bytearray:
    return write_batch([Record(first + 9, NOW, b"k", b"v")], base_offset=first, leader_epoch=0)


def first_offset(log: PartitionLog, offset: int, end: int | None = None) -> int | None:
    found = log.read(offset, 1000, end=log.end if end is None else end)
    return None if found is None else found.first_batch_offset


def test_segments_without_records_are_passed_over() -> None:
    log = follower_log(MemoryDisk(), filled(0), empty(10), empty(20), filled(30), empty(40))
    assert [first_offset(log, offset) for offset in (0, 10, 15, 25, 30)] == [0, 30, 30, 30, 30]


def test_an_empty_batch_is_given_where_nothing_follows() -> None:
    """It says how far the log goes, so that a reader gets to its end."""
    log = follower_log(MemoryDisk(), filled(0), empty(10), empty(20))
    assert first_offset(log, 10) == 10
    assert first_offset(log, 20) == 20
    log = follower_log(MemoryDisk(), filled(0), empty(10), filled(20))
    assert first_offset(log, 10, end=20) == 10


def test_a_batch_that_claims_an_offset_of_another_segment_is_not_served() -> None:
    disk = MemoryDisk()
    log = follower_log(disk, filled(0), filled(10), filled(20))
    disk.flip_bit(f"{PARTITION_DIR}/{10:020d}.log", 3, 3)
    with pytest.raises(KafkaError) as caught:
        log.read(10, 1000, end=log.end)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert first_offset(log, 20) == 20


def test_the_size_of_a_log_is_that_of_its_segments_whatever_happens_to_them() -> None:
    batches = [filled(first) for first in (0, 10, 20, 30)]
    log = follower_log(MemoryDisk(), *batches)

    def size() -> int:
        assert log.size_bytes == sum(segment.size for segment in log.segments)
        return log.size_bytes

    assert size() == sum(map(len, batches))
    log.truncate_to(30)
    assert size() == sum(map(len, batches[:3]))
    log.delete_before(15)
    log.retire(NOW)
    assert size() == sum(map(len, batches[1:3]))
    log.truncate_fully_at(100)
    assert size() == 0
