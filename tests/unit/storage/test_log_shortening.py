import pytest

from tests.unit.storage.one_log import NOW, append, bases, flush, names, open_log
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk


class TestTruncate:
    def test_removes_the_batch_that_holds_the_offset_and_all_after_it(self) -> None:
        disk = MemoryDisk()
        log = open_log(disk, LogConfig(segment_bytes=300, retention_ms=-1))
        for number in range(6):
            append(log, 2, epoch=number)
        deletion = log.truncate_to(5)
        assert (log.end, bases(log)) == (4, [0, 2])
        assert log.leader_epochs.entries == [(0, 0), (1, 2)]
        assert append(log, 2, epoch=9) == (4, 5)
        assert bases(log) == [0, 2, 4]
        for one in deletion:
            one.run()
        assert not names(disk, ".deleted")

    def test_rolls_producer_state_back(self) -> None:
        log = open_log(MemoryDisk(), LogConfig(segment_bytes=300, retention_ms=-1))
        for sequence in range(6):
            append(log, producer_id=7, producer_epoch=0, base_sequence=sequence)
        log.truncate_to(3)
        producer = log.producers.get(7)
        assert producer is not None
        assert producer.last_sequence == 2
        log.truncate_to(0)
        assert log.producers.get(7) is None

    def test_moves_the_recovery_point_back_and_ignores_a_flush_from_before(self) -> None:
        log = open_log(MemoryDisk())
        append(log, 4)
        flush(log)
        append(log, 4)
        under_way = log.begin_flush()
        assert under_way is not None
        under_way.run()
        log.truncate_to(2)
        log.finish_flush(under_way)
        assert (log.end, log.recovery_point) == (0, 0)

    def test_at_or_behind_the_end_does_nothing(self) -> None:
        log = open_log(MemoryDisk())
        append(log, 4)
        assert log.truncate_to(4) == []
        assert log.end == 4

    def test_times_and_index_are_truncated_too(self) -> None:
        log = open_log(MemoryDisk(), LogConfig(index_interval_bytes=1, retention_ms=-1))
        for number in range(5):
            append(log, timestamp=1_000 + number)
        log.truncate_to(3)
        assert log.max_timestamp() == (2, 1_002, 0)
        assert log.segments[-1].index.last == (2, log.segments[-1].index.last[1])  # type: ignore[index]

    def test_fully_starts_anew_elsewhere(self) -> None:
        disk = MemoryDisk()
        log = open_log(disk)
        append(log, 4, epoch=3, producer_id=7, producer_epoch=0, base_sequence=0)
        for one in log.truncate_fully_at(100):
            one.run()
        assert (log.start, log.end, log.size_bytes) == (100, 100, 0)
        assert log.leader_epochs.entries == []
        assert len(log.producers) == 0
        assert append(log) == (100, 100)
        assert names(disk, ".log") == [f"{100:020d}.log"]

    def test_below_the_first_segment_starts_anew_there(self) -> None:
        log = open_log(MemoryDisk(), log_start=50)
        append(log)
        log.truncate_to(20)
        assert (log.start, log.end) == (20, 20)


class TestRetention:
    CONFIG = LogConfig(segment_bytes=200, retention_ms=1_000, file_delete_delay_ms=60)

    def test_by_time_of_the_newest_record_in_a_segment(self) -> None:
        disk = MemoryDisk()
        log = open_log(disk, self.CONFIG)
        for number in range(4):
            append(log, size=80, timestamp=NOW + 500 * number)
        assert log.retire(NOW + 1_000) == []
        (deletion,) = log.retire(NOW + 1_001)
        assert (log.start, bases(log)) == (1, [1, 2, 3])
        assert deletion.remove_at_ms == NOW + 1_061
        assert names(disk, ".log.deleted")
        deletion.run()
        assert not names(disk, ".deleted")

    def test_an_old_active_segment_goes_too(self) -> None:
        log = open_log(MemoryDisk(), self.CONFIG)
        append(log, 3)
        assert len(log.retire(NOW + 5_000)) == 1
        assert (log.start, log.end, log.size_bytes) == (3, 3, 0)
        assert log.retire(NOW + 50_000) == []
        assert append(log) == (3, 3)

    def test_by_size_keeps_at_least_the_limit(self) -> None:
        log = open_log(MemoryDisk(), LogConfig(segment_bytes=200, retention_ms=-1, retention_bytes=500))
        for _ in range(10):
            append(log, size=80)
        log.retire(NOW)
        assert 500 <= log.size_bytes < 500 + 200

    def test_not_above_the_limit(self) -> None:
        log = open_log(MemoryDisk(), self.CONFIG)
        for _ in range(4):
            append(log, size=80)
        log.retire(NOW + 5_000, limit=2)
        assert log.start == 2

    def test_compacted_topics_lose_nothing_by_age(self) -> None:
        log = open_log(MemoryDisk(), LogConfig(segment_bytes=200, retention_ms=1, delete=False, compact=True))
        for _ in range(4):
            append(log, size=80)
        assert log.retire(NOW + 5_000) == []

    def test_records_without_timestamps_count_from_when_the_segment_was_opened(self) -> None:
        log = open_log(MemoryDisk(), self.CONFIG)
        append(log, timestamp=-1)
        assert log.retire(NOW + 1_000) == []
        assert len(log.retire(NOW + 1_001)) == 1

    def test_deleting_records_moves_the_start_and_frees_whole_segments(self) -> None:
        disk = MemoryDisk()
        log = open_log(disk, LogConfig(segment_bytes=200, retention_ms=-1))
        for number in range(4):
            append(log, size=80, epoch=number)
        log.delete_before(2)
        assert log.start == 2
        assert log.leader_epochs.entries == [(2, 2), (3, 3)]
        with pytest.raises(KafkaError) as caught:
            log.read(1, 100, end=log.end)
        assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert len(log.retire(NOW)) == 2
        assert bases(log) == [2, 3]
        with pytest.raises(KafkaError, match="ends at 4") as caught:
            log.delete_before(5)
        assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
        again = open_log(disk, log_start=3, recovery_point=0)
        assert (again.start, again.end) == (3, 4)

    def test_a_start_above_the_end_leaves_an_empty_log_there(self) -> None:
        disk = MemoryDisk()
        append(open_log(disk), 4)
        log = open_log(disk, log_start=10)
        assert (log.start, log.end, log.size_bytes) == (10, 10, 0)
        assert "all in it was deleted" in log.recovery.lines()[0]
