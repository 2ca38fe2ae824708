import pytest

from tests.unit.storage.one_log import NOW, append, bases, headers, open_log
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import check_batches
from tidelog.wire.compression import Codec
from tidelog.wire.record import Record, write_batch


class TestRead:
    @pytest.fixture(params=["tail in memory", "reopened", "sealed"])
    def log(self, request: pytest.FixtureRequest) -> PartitionLog:
        """Ten batches of three records each, read through each of the three ways to find a batch."""
        disk = MemoryDisk()
        config = LogConfig(index_interval_bytes=300, retention_ms=-1)
        log = open_log(disk, config)
        for _ in range(10):
            append(log, 3, size=30)
        if request.param == "reopened":
            log.close()
            log = open_log(disk, config, clean=True)
        if request.param == "sealed":
            log.roll(NOW)
        return log

    def test_starts_at_the_batch_that_holds_the_offset(self, log: PartitionLog) -> None:
        for offset in range(30):
            read = log.read(offset, 1 << 20, end=log.end)
            assert read is not None
            assert read.first_batch_offset == offset // 3 * 3
            assert headers(log, offset)[0].base_offset == offset // 3 * 3

    def test_gives_as_many_whole_batches_as_fit(self, log: PartitionLog) -> None:
        size = headers(log, 0)[0].size
        for count in range(1, 9):
            for surplus in (0, 1, size - 1):
                found = headers(log, 3, size * count + surplus)
                assert [header.base_offset for header in found] == [3 * (1 + n) for n in range(count)]

    def test_gives_the_first_batch_whole_however_small_the_limit(self, log: PartitionLog) -> None:
        assert [header.base_offset for header in headers(log, 7, 1)] == [6]
        assert log.read(7, 1, end=log.end, min_one=False) is None

    def test_hides_what_is_at_or_above_the_end(self, log: PartitionLog) -> None:
        assert [header.base_offset for header in headers(log, 3, end=9)] == [3, 6]
        assert headers(log, 9, end=9) == []
        assert [header.base_offset for header in headers(log, 3, end=8)] == [3]
        assert [header.base_offset for header in headers(log, 3, 1, end=30)] == [3]

    def test_outside_of_the_log_is_refused_and_its_end_is_not(self, log: PartitionLog) -> None:
        assert log.read(30, 100, end=30) is None
        for offset in (-1, 31):
            with pytest.raises(KafkaError, match=f"offset {offset} is outside of 0 to 30") as caught:
                log.read(offset, 100, end=30)
            assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE

    def test_goes_on_in_the_next_segment(self, log: PartitionLog) -> None:
        log.roll(NOW)
        append(log, 3, size=30)
        assert bases(log) == [3 * number for number in range(11)]
        assert [header.base_offset for header in headers(log, 27)] == [27]

    def test_many_batches_are_forgotten_and_found_again(self, log: PartitionLog) -> None:
        for _ in range(2_000):
            append(log)
        assert bases(log)[:12] == [*range(0, 30, 3), 30, 31]
        assert bases(log)[-1] == log.end - 1

    def test_sees_what_was_just_appended(self, log: PartitionLog) -> None:
        append(log, 2)
        assert [header.base_offset for header in headers(log, 31)] == [30]


def test_a_read_that_fails_does_not_take_the_log_offline() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    for _ in range(3):
        append(log)
    log.roll(NOW)
    disk.fail("read", ".log")
    with pytest.raises(KafkaError, match="offset 1") as caught:
        log.read(1, 100, end=log.end)
    assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    disk.heal()
    assert bases(log) == [0, 1, 2]
    assert append(log) == (3, 3)


class TestTime:
    def test_finds_the_first_record_that_is_as_new(self) -> None:
        log = open_log(MemoryDisk(), LogConfig(index_interval_bytes=100, segment_bytes=900, retention_ms=-1))
        for number in range(30):
            append(
                log, 3, timestamp=1_000 + 10 * number, codec=Codec.GZIP if number % 2 else Codec.NONE, epoch=5
            )
        assert len(log.segments) > 2
        for number in range(30):
            for step in range(3):
                found = log.find_by_time(1_000 + 10 * number + step)
                assert found == (3 * number + step, 1_000 + 10 * number + step, 5)
        assert log.find_by_time(0) == (0, 1_000, 5)
        assert log.find_by_time(1_005) == (3, 1_010, 5)
        assert log.find_by_time(1_293) is None

    def test_timestamps_out_of_order(self) -> None:
        log = open_log(MemoryDisk())
        for timestamp in (500, 900, 100, 700):
            append(log, timestamp=timestamp)
        assert log.find_by_time(600) == (1, 900, 0)
        assert log.max_timestamp() == (1, 900, 0)

    def test_nothing_below_the_start_of_the_log_is_found(self) -> None:
        log = open_log(MemoryDisk())
        for timestamp in (500, 900, 100, 700):
            append(log, timestamp=timestamp)
        log.delete_before(2)
        assert log.find_by_time(600) == (3, 700, 0)

    def test_an_empty_log_has_no_newest_record(self) -> None:
        log = open_log(MemoryDisk())
        assert log.max_timestamp() is None
        assert log.find_by_time(0) is None

    def test_the_newest_record_inside_of_a_batch_after_a_restart(self) -> None:
        disk = MemoryDisk()
        log = open_log(disk)
        records = [Record(n, timestamp, None, b"v") for n, timestamp in enumerate((5, 90, 7))]
        batch = write_batch(records)
        log.append(memoryview(batch), check_batches(batch), leader_epoch=3, now_ms=NOW)
        log.close()
        assert open_log(disk, clean=True).max_timestamp() == (1, 90, 3)
