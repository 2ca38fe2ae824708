"""The disk fails at every operation in turn: the log goes offline in words, and nothing flushed is lost."""

import errno
from dataclasses import replace

import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import check_batches, crc_ok, iter_batches
from tidelog.wire.record import Record, write_batch

PARTITION_DIR = "/data/topic-0"
NOW = 1_700_000_000_000
CONFIG = LogConfig(segment_bytes=1_000, index_interval_bytes=100, retention_ms=-1, file_delete_delay_ms=0)


def open_log(disk: MemoryDisk, **options: object) -> PartitionLog:
    return PartitionLog.open(disk, PARTITION_DIR, CONFIG, now_ms=NOW, **options)  # type: ignore[arg-type]


def append(log: PartitionLog, number: int) -> None:
    records = [Record(n, NOW + number, b"key", bytes(100)) for n in range(2)]
    batch = write_batch(records, producer_id=7, producer_epoch=0, base_sequence=2 * number)
    log.append(memoryview(batch), check_batches(batch), leader_epoch=number // 5, now_ms=NOW)


def bases(log: PartitionLog) -> list[int]:
    found: list[int] = []
    offset = log.start
    while (read := log.read(offset, 1 << 20, end=log.end)) is not None:
        data = read.slice.read()
        for position, header in iter_batches(data):
            assert crc_ok(data, position, header)
            found.append(header.base_offset)
            offset = header.next_offset
    return found


def live(log: PartitionLog, acknowledged: list[int]) -> int:
    """Append, flush, roll; answers how much was flushed when a disk error ended it."""
    flushed = 0
    try:
        for number in range(20):
            append(log, number)
            acknowledged.append(2 * number)
            if number % 3 == 0 and (flush := log.begin_flush()) is not None:
                flush.run()
                log.finish_flush(flush)
                flushed = log.recovery_point
        flushed = min(flushed, 36)
        log.truncate_to(36)
        log.delete_before(10)
        for deletion in log.retire(NOW):
            deletion.run()
        log.close()
    except KafkaError as refused:
        log_is_offline(log, refused)
    return flushed


def log_is_offline(log: PartitionLog, error: KafkaError) -> None:
    assert error.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert PARTITION_DIR in error.message
    assert log.offline is not None


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("operation", ["write", "sync", "sync_dir", "truncate", "rename", "create", "remove"])
def test_an_error_at_each_call_takes_the_log_offline_and_keeps_what_was_flushed(
    operation: str, error: int
) -> None:
    number = 0
    while True:
        number += 1
        disk = MemoryDisk(number)
        disk.make_dirs("/data")
        disk.sync_dir("/")
        log = open_log(disk)
        disk.fail(operation, number=number, error=error)
        acknowledged: list[int] = []
        try:
            flushed = live(log, acknowledged)
        except OSError:  # removing files of the past is the caller's errand, and his error
            assert operation == "remove"
            continue
        disk.heal()
        if log.offline is None:
            break
        assert log.offline.errno == error
        with pytest.raises(KafkaError, match="offline"):
            append(log, 99)
        assert set(bases(log)) <= set(acknowledged)
        disk.crash()
        again = open_log(disk, recovery_point=flushed)
        assert set(range(again.start, flushed, 2)) <= set(bases(again))
        assert again.offline is None
    assert number > 1


def test_a_full_disk_truncates_what_was_written_in_part() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    append(log, 0)
    size = log.size_bytes
    disk.capacity_bytes = disk.free_bytes("/")[0] - disk.free_bytes("/")[1] + 100
    with pytest.raises(KafkaError, match="No space left") as caught:
        append(log, 1)
    assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert disk.size(f"{PARTITION_DIR}/{0:020d}.log") == size
    assert bases(log) == [0]
    disk.heal()
    with pytest.raises(KafkaError, match="offline"):
        append(log, 1)
    again = open_log(disk)
    append(again, 1)
    assert bases(again) == [0, 2]


def fill(disk: MemoryDisk) -> None:
    total, free = disk.free_bytes("/")
    disk.capacity_bytes = total - free


def test_a_log_without_room_can_be_read_and_gives_up_what_is_old() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.configure(replace(CONFIG, retention_bytes=1))
    for number in range(40):
        append(log, number)
    fill(disk)
    with pytest.raises(KafkaError, match="free space"):
        append(log, 40)
    assert log.is_short
    before, segments = bases(log), len(log.segments)
    assert before
    deletions = log.retire(0)
    assert len(deletions) == segments - 1, "but the one that is appended to"
    for one in deletions:
        one.run()
    assert bases(log) == [base for base in before if base >= log.start]
    assert disk.free_bytes("/")[1] > 1000
    again = open_log(disk, recovery_point=0, log_start=log.start)
    append(again, 40)


@pytest.mark.parametrize(
    ("code", "is_full"),
    [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EMFILE, True), (errno.EIO, False)],
)
def test_which_errors_pass_by_themselves(code: int, is_full: bool) -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    append(log, 0)
    disk.fail("write", error=code)
    with pytest.raises(KafkaError, match="free space|ulimit" if is_full else "restart the broker"):
        append(log, 1)
    assert log.is_short is is_full


def test_a_full_disk_that_refuses_even_to_truncate_is_sorted_out_at_the_next_start() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    append(log, 0)
    size = log.size_bytes
    disk.capacity_bytes = disk.free_bytes("/")[0] - disk.free_bytes("/")[1] + 100
    disk.fail("truncate", ".log")
    with pytest.raises(KafkaError):
        append(log, 1)
    assert disk.size(f"{PARTITION_DIR}/{0:020d}.log") == size + 100
    assert bases(log) == [0]
    disk.heal()
    again = open_log(disk, recovery_point=2)
    assert bases(again) == [0]
    assert again.recovery.torn_writes[0].length == 100


def test_a_read_that_fails_while_an_append_looks_whether_to_roll() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    append(log, 0)
    log.close(clean=True)
    log = open_log(disk, clean=True, recovery_point=2)
    disk.fail("read", ".log")
    with pytest.raises(KafkaError) as refused:
        append(log, 1)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert log.offline is not None
