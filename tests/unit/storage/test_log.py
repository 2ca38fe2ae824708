import pytest

from tests.unit.storage.one_log import FOREVER, NOW, all_bytes, append, bases, headers, names, open_log
from tidelog.base.errors import KafkaError
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import check_batches, iter_batches, read_header
from tidelog.wire.compression import Codec
from tidelog.wire.record import ControlType, Record, read_records, write_batch, write_control_batch


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
        with pytest.raises(KafkaError, match="offset 4; expected 6"):
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

    def test_jitter_shortens_the_time_by_the_name_of_the_directory(self) -> None:
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


def test_new_settings_hold_from_the_next_append() -> None:
    log = open_log(MemoryDisk())
    append(log, size=80)
    append(log, size=80)
    assert len(log.segments) == 1
    log.configure(LogConfig(segment_bytes=200, retention_ms=-1))
    append(log, size=80)
    assert len(log.segments) == 2


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
