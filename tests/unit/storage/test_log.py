import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.disk import MemoryDisk
from tidelog.wire.batch import BatchHeader, check_batches, iter_batches, read_header
from tidelog.wire.compression import Codec
from tidelog.wire.record import ControlType, Record, read_records, write_batch, write_control_batch

FOLDER = "/data/topic-0"
NOW = 1_700_000_000_000
FOREVER = LogConfig(retention_ms=-1)


def open_log(disk: MemoryDisk, config: LogConfig = FOREVER, **options: object) -> PartitionLog:
    return PartitionLog.open(disk, FOLDER, config, now_ms=NOW, **options)  # type: ignore[arg-type]


def append(
    log: PartitionLog,
    count: int = 1,
    *,
    size: int = 10,
    timestamp: int = NOW,
    epoch: int = 0,
    now_ms: int = NOW,
    codec: Codec = Codec.NONE,
    **producer: int,
) -> tuple[int, int]:
    records = [Record(number, timestamp + number, b"key", bytes(size)) for number in range(count)]
    batch = write_batch(records, codec=codec, **producer)  # type: ignore[arg-type]
    appended = log.append(memoryview(batch), check_batches(batch), leader_epoch=epoch, now_ms=now_ms)
    return appended.base, appended.last


def flush(log: PartitionLog) -> None:
    pending = log.begin_flush()
    assert pending is not None
    pending.run()
    log.finish_flush(pending)


def headers(log: PartitionLog, offset: int, max_bytes: int = 1 << 20, **options: int) -> list[BatchHeader]:
    read = log.read(offset, max_bytes, end=options.pop("end", log.end), **options)  # type: ignore[arg-type]
    return [] if read is None else [header for _, header in iter_batches(read.slice.read())]


def bases(log: PartitionLog) -> list[int]:
    found: list[int] = []
    offset = log.start
    while batch := headers(log, offset):
        found += [header.base_offset for header in batch]
        offset = batch[-1].next_offset
    return found


def all_bytes(log: PartitionLog) -> bytes:
    """The whole log, segment by segment."""
    return b"".join(segment.file.read_at(0, segment.size) for segment in log.segments)


def names(disk: MemoryDisk, suffix: str = "") -> list[str]:
    return [name for name in disk.names(FOLDER) if name.endswith(suffix)]


class TestAppend:
    def test_gives_offsets_and_epoch_in_place(self) -> None:
        log = open_log(MemoryDisk())
        assert append(log, 3, epoch=4) == (0, 2)
        assert append(log, 2, epoch=4) == (3, 4)
        assert log.end == 5
        (first, second) = headers(log, 0)
        assert (first.base_offset, first.leader_epoch) == (0, 4)
        assert (second.base_offset, second.last_offset) == (3, 4)
        assert log.leader_epochs.entries == [(4, 0)]

    def test_answers_the_append_time_only_where_the_topic_sets_it(self) -> None:
        log = open_log(MemoryDisk())
        batch = write_batch([Record(0, 5, b"k", b"v")], log_append_time=NOW)
        appended = log.append(memoryview(batch), [(0, read_header(batch))], leader_epoch=0, now_ms=NOW)
        assert appended.append_time_ms == NOW
        batch = write_batch([Record(0, 5, b"k", b"v")])
        appended = log.append(memoryview(batch), [(0, read_header(batch))], leader_epoch=0, now_ms=NOW)
        assert appended.append_time_ms == -1

    def test_answers_a_retry_with_the_first_offsets_and_writes_nothing(self) -> None:
        log = open_log(MemoryDisk())
        append(log, 2)
        assert append(log, 3, producer_id=7, producer_epoch=0, base_sequence=0) == (2, 4)
        size = log.size_bytes
        batch = write_batch(
            [Record(number, NOW, b"k", b"v") for number in range(3)],
            producer_id=7,
            producer_epoch=0,
            base_sequence=0,
        )
        again = log.append(memoryview(batch), check_batches(batch), leader_epoch=0, now_ms=NOW)
        assert (again.base, again.last, again.duplicate) == (2, 4, True)
        assert (log.end, log.size_bytes) == (5, size)

    def test_tracks_transactions_through_their_markers(self) -> None:
        log = open_log(MemoryDisk())
        producer = {"producer_id": 7, "producer_epoch": 0}
        append(log, 2, base_sequence=0, transactional=True, **producer)
        assert log.producers.first_open == 0
        marker = write_control_batch(ControlType.ABORT, coordinator_epoch=2, timestamp=NOW, **producer)
        log.append(memoryview(marker), [(0, read_header(marker))], leader_epoch=0, now_ms=NOW)
        assert log.producers.first_open is None
        (ended,) = log.producers.ended
        assert (ended.first, ended.last, ended.aborted) == (0, 2, True)

    def test_as_follower_keeps_offsets_gaps_and_epochs(self) -> None:
        leader, log = open_log(MemoryDisk()), open_log(MemoryDisk())
        for epoch in (1, 1, 2):
            append(leader, 2, epoch=epoch)
        (first, _, third) = headers(leader, 0)
        read = leader.read(0, 1 << 20, end=leader.end)
        assert read is not None
        data = memoryview(bytearray(read.slice.read()))
        positions = [position for position, _ in iter_batches(data)]
        copied = memoryview(bytes(data[: first.size]) + bytes(data[positions[2] :]))
        log.append_as_follower(copied, list(iter_batches(copied)), now_ms=NOW)
        assert bases(log) == [0, 4]
        assert log.end == 6
        assert log.leader_epochs.entries == [(1, 0), (2, 4)]
        with pytest.raises(KafkaError, match="offset 4 where 6"):
            log.append_as_follower(copied[first.size :], [(0, third)], now_ms=NOW)

    def test_as_follower_writes_what_comes_together_as_one_by_one(self) -> None:
        leader = open_log(MemoryDisk(), FOREVER)
        for number in range(12):
            append(
                leader,
                2,
                size=40,
                epoch=number // 9,
                producer_id=7,
                producer_epoch=0,
                base_sequence=2 * number,
            )
        copied = memoryview(bytearray(all_bytes(leader)))
        batches = list(iter_batches(copied))
        small = LogConfig(retention_ms=-1, segment_bytes=5 * len(copied) // 12)
        logs = [open_log(MemoryDisk(), small) for _ in range(3)]
        for log, step in zip(logs, (1, 3, 12), strict=True):
            for at in range(0, 12, step):
                group = batches[at : at + step]
                first, end = group[0][0], group[-1][0] + group[-1][1].size
                moved = [(position - first, header) for position, header in group]
                log.append_as_follower(copied[first:end], moved, now_ms=NOW)
        for log in logs:
            assert all_bytes(log) == bytes(copied)
            assert [segment.base for segment in log.segments] == [0, 10, 20]
            assert (log.end, log.leader_epochs.latest_start) == (24, 18)
            assert dict(log.producers)[7].last_sequence == 23

    def test_as_follower_writes_what_comes_together_at_once(self) -> None:
        disk = MemoryDisk()
        leader, log = open_log(MemoryDisk()), open_log(disk)
        for _ in range(9):
            append(leader)
        copied = memoryview(bytearray(all_bytes(leader)))
        batches = list(iter_batches(copied))
        first, rest = copied[: batches[1][0]], copied[batches[1][0] :]
        log.append_as_follower(first, batches[:1], now_ms=NOW)
        disk.fail("write", ".log", number=2)
        log.append_as_follower(rest, list(iter_batches(rest)), now_ms=NOW)
        assert log.end == 9

    def test_as_follower_rolls_where_an_offset_is_out_of_reach(self) -> None:
        disk = MemoryDisk()
        log = open_log(disk)
        for base in (2**33, 2**33 + 5, 2**34):
            batch = write_batch([Record(base, NOW, b"k", b"v")], base_offset=base)
            log.append_as_follower(memoryview(batch), [(0, read_header(batch))], now_ms=NOW)
        assert bases(log) == [2**33, 2**33 + 5, 2**34]
        assert names(disk, ".log") == [f"{2**33:020d}.log", f"{2**34:020d}.log"]


class TestRoll:
    def test_by_size(self) -> None:
        disk = MemoryDisk()
        log = open_log(disk, LogConfig(segment_bytes=300, retention_ms=-1))
        for _ in range(5):
            append(log, size=50)
        assert len(log.segments) == 3
        assert names(disk, ".log") == [f"{base:020d}.log" for base in (0, 2, 4)]
        assert bases(log) == [0, 1, 2, 3, 4]

    def test_by_time_between_timestamps(self) -> None:
        log = open_log(MemoryDisk(), LogConfig(segment_ms=1000, retention_ms=-1))
        append(log, timestamp=NOW)
        append(log, timestamp=NOW + 1000)
        assert len(log.segments) == 1
        append(log, timestamp=NOW + 1001)
        assert len(log.segments) == 2

    def test_by_time_remembers_the_first_timestamp_over_a_restart(self) -> None:
        disk = MemoryDisk()
        config = LogConfig(segment_ms=1000, retention_ms=-1)
        log = open_log(disk, config)
        append(log, timestamp=NOW)
        log.close()
        log = open_log(disk, config, clean=True)
        append(log, timestamp=NOW + 1001)
        assert len(log.segments) == 2

    def test_by_a_full_index(self) -> None:
        config = LogConfig(index_interval_bytes=1, index_bytes_max=8 * 3, retention_ms=-1)
        log = open_log(MemoryDisk(), config)
        for number in range(8):
            append(log, timestamp=NOW + number)
        assert len(log.segments) > 1
        assert bases(log) == list(range(8))

    def test_on_demand_and_never_twice(self) -> None:
        log = open_log(MemoryDisk())
        append(log)
        log.roll(NOW)
        log.roll(NOW)
        assert [segment.base for segment in log.segments] == [0, 1]

    def test_jitter_shortens_the_time_by_the_name_of_the_folder(self) -> None:
        log = open_log(MemoryDisk(), LogConfig(segment_ms=1000, segment_jitter_ms=1000, retention_ms=-1))
        append(log, timestamp=NOW)
        append(log, timestamp=NOW + 1000)
        assert len(log.segments) == 2

    def test_takes_a_producer_snapshot(self) -> None:
        disk = MemoryDisk()
        log = open_log(disk)
        append(log, producer_id=7, producer_epoch=0, base_sequence=0)
        log.roll(NOW)
        assert names(disk, ".snapshot") == [f"{1:020d}.snapshot"]

    def test_preallocated_space_is_given_back(self) -> None:
        disk = MemoryDisk()
        config = LogConfig(segment_bytes=4096, preallocate=True, retention_ms=-1)
        log = open_log(disk, config)
        append(log)
        path = log.segments[0].path + ".log"
        assert disk.size(path) == 4096
        log.roll(NOW)
        assert disk.size(path) == log.segments[0].size
        append(log)
        crashed = open_log(disk, config, recovery_point=0)
        assert bases(crashed) == [0, 1]
        assert crashed.recovery.is_clean


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


class TestTruncate:
    def test_removes_the_batch_that_holds_the_offset_and_all_after_it(self) -> None:
        disk = MemoryDisk()
        log = open_log(disk, LogConfig(segment_bytes=300, retention_ms=-1))
        for number in range(6):
            append(log, 2, epoch=number)
        doomed = log.truncate_to(5)
        assert (log.end, bases(log)) == (4, [0, 2])
        assert log.leader_epochs.entries == [(0, 0), (1, 2)]
        assert append(log, 2, epoch=9) == (4, 5)
        assert bases(log) == [0, 2, 4]
        for one in doomed:
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

    def test_times_and_index_are_cut_too(self) -> None:
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
        (doomed,) = log.retire(NOW + 1_001)
        assert (log.start, bases(log)) == (1, [1, 2, 3])
        assert doomed.remove_at_ms == NOW + 1_061
        assert names(disk, ".log.deleted")
        doomed.run()
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


class TestFlush:
    def test_moves_the_recovery_point_to_what_was_there_when_it_began(self) -> None:
        log = open_log(MemoryDisk())
        append(log, 2)
        pending = log.begin_flush()
        assert pending is not None
        append(log, 3)
        pending.run()
        assert log.recovery_point == 0
        log.finish_flush(pending)
        assert log.recovery_point == 2
        flush(log)
        assert log.recovery_point == 5
        assert log.begin_flush() is None

    def test_covers_segments_that_were_rolled_and_then_removed(self) -> None:
        disk = MemoryDisk()
        log = open_log(disk, LogConfig(segment_bytes=200, retention_ms=1))
        for _ in range(3):
            append(log, size=80)
        pending = log.begin_flush()
        assert pending is not None
        for doomed in log.retire(NOW + 100):
            doomed.run()
        pending.run()
        log.finish_flush(pending)
        assert log.recovery_point == 3

    def test_a_failed_sync_takes_the_log_offline_for_good(self) -> None:
        disk = MemoryDisk()
        log = open_log(disk)
        append(log, 2)
        disk.fail("sync", ".log")
        pending = log.begin_flush()
        assert pending is not None
        pending.run()
        with pytest.raises(KafkaError, match="offline") as caught:
            log.finish_flush(pending)
        assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        disk.heal()
        assert log.recovery_point == 0
        with pytest.raises(KafkaError, match="Input/output error"):
            append(log)
        with pytest.raises(KafkaError):
            log.begin_flush()
        assert bases(log) == [0]


def test_new_settings_hold_from_the_next_append() -> None:
    log = open_log(MemoryDisk())
    append(log, size=80)
    append(log, size=80)
    assert len(log.segments) == 1
    log.configure(LogConfig(segment_bytes=200, retention_ms=-1))
    append(log, size=80)
    assert len(log.segments) == 2


def test_a_clean_close_leaves_nothing_to_scan_or_to_write() -> None:
    disk = MemoryDisk()
    log = open_log(disk, LogConfig(segment_bytes=1000, index_interval_bytes=100, retention_ms=-1))
    for sequence in range(50):
        append(log, 2, producer_id=7, producer_epoch=0, base_sequence=2 * sequence, epoch=sequence // 20)
    log.close()
    assert log.recovery_point == 100
    before, disk.bytes_read = disk.operations, 0
    again = open_log(disk, log.config, clean=True)
    assert again.recovery.scanned_bytes == 0
    assert disk.bytes_read < 500  # index ends, the epochs, and five batches of a producer
    again.close()
    assert disk.operations == before
    assert (again.end, again.recovery_point) == (100, 100)
    assert again.leader_epochs.entries == log.leader_epochs.entries
    producer = again.producers.get(7)
    assert producer is not None
    assert producer.last_sequence == 99


def test_a_start_after_a_crash_reads_only_what_was_not_flushed() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    for number in range(300):
        append(log, size=20_000)
        if number % 40 == 0:
            flush(log)
    flush(log)
    for _ in range(3):
        append(log, size=20_000)
    again = open_log(disk, recovery_point=log.recovery_point)
    assert again.end == log.end
    assert 60_000 < again.recovery.scanned_bytes < 61_000
    assert bases(again) == bases(log)


def test_a_folder_that_was_made_before_a_kill_is_made_durable_by_the_first_flush_after_it() -> None:
    for seed in range(20):
        disk = MemoryDisk(seed)
        disk.make_dirs("/data")
        disk.sync_dir("/")
        open_log(disk)  # killed here: nobody has synced the folder
        log = open_log(disk)
        append(log)
        flush(log)
        disk.crash()
        assert open_log(disk, recovery_point=1).end == 1


def test_epochs_that_recovery_learned_are_durable_before_the_batches_that_carry_them_are_trusted() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    append(log, epoch=1)
    append(log, epoch=2)
    path = f"{FOLDER}/leader-epoch-checkpoint"
    disk.open(path).truncate(0)
    disk.open(path).write_at(0, [b"0\n1\n1 0\n"])  # as power left it
    again = open_log(disk, recovery_point=1)
    assert again.leader_epochs.entries == [(1, 0), (2, 1)]
    flush(again)
    assert open_log(disk, recovery_point=again.recovery_point).leader_epochs.entries == [(1, 0), (2, 1)]


def test_records_survive_word_for_word() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    wanted = [Record(n, NOW + n, None if n % 2 else b"k%d" % n, b"v" * n, [("h", None)]) for n in range(5)]
    batch = write_batch(wanted, codec=Codec.ZSTD)
    log.append(memoryview(batch), check_batches(batch), leader_epoch=0, now_ms=NOW)
    log.close()
    read = open_log(disk, clean=True).read(0, 1, end=5)
    assert read is not None
    assert read_records(read.slice.read()) == wanted
