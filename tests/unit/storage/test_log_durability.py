import pytest

from tests.unit.storage.one_log import NOW, PARTITION_DIR, append, bases, flush, open_log
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk


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
        for deletion in log.retire(NOW + 100):
            deletion.run()
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
    assert disk.bytes_read < 550  # index ends, the epochs, and five batches of a producer
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
    assert 80_000 < again.recovery.scanned_bytes < 81_000  # and the newest of what was flushed
    assert bases(again) == bases(log)


def test_a_directory_that_was_made_before_a_kill_is_made_durable_by_the_first_flush_after_it() -> None:
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
    path = f"{PARTITION_DIR}/leader-epoch-checkpoint"
    disk.open(path).truncate(0)
    disk.open(path).write_at(0, [b"0\n1\n1 0\n"])  # as power left it
    again = open_log(disk, recovery_point=1)
    assert again.leader_epochs.entries == [(1, 0), (2, 1)]
    flush(again)
    assert open_log(disk, recovery_point=again.recovery_point).leader_epochs.entries == [(1, 0), (2, 1)]


def test_a_log_that_lost_all_to_a_crash_still_starts_where_it_did_after_the_next() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    append(log)
    log.roll(NOW)
    log.close(clean=False)
    disk.open(f"{PARTITION_DIR}/{0:020d}.log").truncate(0)
    disk.remove(f"{PARTITION_DIR}/leader-epoch-checkpoint")
    log = open_log(disk)
    assert (log.start, log.end) == (0, 1)
    append(log)
    log = open_log(disk)
    assert (log.start, log.end) == (0, 2)


def test_a_replica_that_lost_all_to_a_crash_does_not_make_others_truncate() -> None:
    """In a compacted log a gap is no proof of a loss, so such a replica may lead."""
    disk = MemoryDisk()
    config = LogConfig(compact=True, is_replicated=True)
    log = open_log(disk, config)
    append(log, 4)
    log.roll(NOW)
    log.close(clean=False)
    disk.open(f"{PARTITION_DIR}/{0:020d}.log").truncate(0)
    disk.remove(f"{PARTITION_DIR}/leader-epoch-checkpoint")
    log = open_log(disk, config)
    assert (log.start, log.end, log.size_bytes) == (0, 4, 0)
    log.begin_epoch(7)
    assert log.epoch_end(3) == (3, 4)
