"""A log that is damaged where it was synced: it says so, keeps its offsets, and can be repaired."""

import pytest

from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.recovery import lost_range
from tidelog.storage.recovery.lost_range import LostRange
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut
from tidelog.wire.batch import check_batches, iter_batches
from tidelog.wire.record import Record, write_batch

PARTITION_DIR = "/data/topic-0"
NOW = 1_700_000_000_000
ALONE = LogConfig(retention_ms=-1)
REPLICATED = LogConfig(retention_ms=-1, is_replicated=True)
LOG = f"{PARTITION_DIR}/{0:020d}.log"
MARK = f"{PARTITION_DIR}/lost-range-checkpoint"


def open_log(disk: MemoryDisk, config: LogConfig = ALONE, **options: object) -> PartitionLog:
    return PartitionLog.open(disk, PARTITION_DIR, config, now_ms=NOW, **options)  # type: ignore[arg-type]


def append(log: PartitionLog, number: int, epoch: int = 0) -> int:
    batch = write_batch(
        [Record(0, NOW + number, b"key", b"value")],
        producer_id=7,
        producer_epoch=0,
        base_sequence=number,
    )
    return log.append(memoryview(batch), check_batches(batch), leader_epoch=epoch, now_ms=NOW).base


def written(count: int = 10, config: LogConfig = ALONE) -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_dirs("/data")
    disk.sync_dir("/")
    log = open_log(disk, config)
    for number in range(count):
        append(log, number, epoch=number // 4)
    log.close(clean=True)
    return disk


def offsets(log: PartitionLog) -> list[int]:
    found: list[int] = []
    offset = log.start
    while (read := log.read(offset, 1 << 20, end=log.end)) is not None:
        for _, header in iter_batches(read.slice.read()):
            found += [header.base_offset] if header.record_count else []
            offset = header.next_offset
    return found


def told(disk: MemoryDisk) -> LostRange | None:
    return lost_range.read(disk, PARTITION_DIR)


BATCH_BYTES = written(1).size(LOG)
LAST = 9 * BATCH_BYTES


@pytest.mark.parametrize("config", [ALONE, REPLICATED], ids=["alone", "replicated"])
@pytest.mark.parametrize("place", [7, 10, 17, 22, BATCH_BYTES - 2])
def test_a_bit_of_the_last_batch_flipped_after_a_clean_stop_is_a_loss_and_no_torn_write(
    place: int, config: LogConfig
) -> None:
    disk = written(config=config)
    disk.flip_bit(LOG, LAST + place, 1)
    damaged = disk.open(LOG).read_at(LAST, BATCH_BYTES)
    log = open_log(disk, config, clean=True, recovery_point=10)
    assert told(disk) == LostRange(9, 10, 2, is_final=config is ALONE)
    assert log.lost == (None if config is ALONE else LostRange(9, 10, 2))
    assert log.end == log.recovery_point == 10
    assert offsets(log) == list(range(9))
    assert disk.open(f"{LOG}.damaged-{LAST}").read_at(0, 1 << 20) == damaged
    [loss, *_] = log.recovery.lines()
    assert "offsets 9 to 9" in loss
    assert append(log, 10, epoch=3) == 10  # the producer's state is as it was before
    assert offsets(log) == [*range(9), 10]


def test_the_loss_is_remembered_and_its_offsets_are_never_given_out() -> None:
    disk = written()
    disk.flip_bit(LOG, LAST + 70)
    open_log(disk, clean=True, recovery_point=10).close(clean=True)
    for options in ({"clean": True, "recovery_point": 10}, {"recovery_point": 10}, {}):
        log = open_log(disk, **options)
        assert (told(disk), log.end) == (LostRange(9, 10, 2, is_final=True), 10)
        assert log.recovery.losses


@pytest.mark.parametrize("recovery_point", [None, 0, 4, 9])
def test_a_recovery_point_that_is_too_low_drops_nothing(recovery_point: int | None) -> None:
    disk = written()
    log = open_log(disk, REPLICATED, clean=True, recovery_point=recovery_point)
    assert (log.lost, log.end) == (None, 10)
    assert offsets(log) == list(range(10))


def test_bytes_behind_the_end_of_a_log_that_was_closed_in_order_are_kept() -> None:
    disk = written()
    disk.open(LOG).write_at(10 * BATCH_BYTES, [b"whatever this is"])
    log = open_log(disk, clean=True, recovery_point=10)
    assert (told(disk), log.end) == (None, 10)
    assert disk.open(f"{LOG}.damaged-{10 * BATCH_BYTES}").read_at(0, 100) == b"whatever this is"


def test_a_synced_tail_that_is_gone_is_a_loss_after_a_clean_stop() -> None:
    disk = written()
    disk.open(LOG).truncate(LAST - BATCH_BYTES)
    log = open_log(disk, clean=True, recovery_point=10)
    assert (told(disk), log.end) == (LostRange(8, 10, 2, is_final=True), 10)


def test_a_log_that_is_gone_is_a_loss_after_a_clean_stop() -> None:
    disk = written()
    for name in disk.names(PARTITION_DIR):
        disk.remove(f"{PARTITION_DIR}/{name}")
    log = open_log(disk, clean=True, recovery_point=10)
    assert (told(disk), log.start, log.end) == (LostRange(0, 10, is_final=True), 0, 10)
    assert offsets(log) == []


@pytest.mark.parametrize("committed", [None, 10], ids=["not committed", "committed"])
def test_after_a_crash_what_was_committed_is_not_torn(committed: int | None) -> None:
    disk = written()
    disk.flip_bit(LOG, LAST + 70)
    log = open_log(disk, REPLICATED, recovery_point=5, committed=committed)
    if committed is None:
        assert (log.lost, log.end, len(log.recovery.torn_writes)) == (None, 9, 1)
    else:
        assert (log.lost, log.end, log.recovery.torn_writes) == (LostRange(9, 10, 2), 10, [])


def test_a_log_that_was_truncated_before_a_crash_is_no_loss() -> None:
    """A follower cuts what its leader does not have, and dies before it could write down how far it is."""
    disk = written(config=REPLICATED)
    log = open_log(disk, REPLICATED, clean=True, recovery_point=10)
    log.truncate_to(8)
    log = open_log(disk, REPLICATED, recovery_point=10, committed=8)
    assert (log.lost, log.end) == (None, 8)
    assert log.recovery.trusts_too_much


def test_damage_among_what_was_synced_keeps_what_lies_behind_it() -> None:
    disk = written(config=REPLICATED)
    disk.remove(f"{PARTITION_DIR}/{0:020d}.index")
    disk.flip_bit(LOG, 6 * BATCH_BYTES + 70)
    log = open_log(disk, REPLICATED, clean=True, recovery_point=10)
    assert log.lost == LostRange(6, 10, 2)
    assert offsets(log) == [0, 1, 2, 3, 4, 5, 7, 8, 9]


def test_repair_from_another_replica() -> None:
    """The log ends before the damage, gets the batches anew, and forgets the loss for good."""
    disk, other = written(config=REPLICATED), open_log(written(config=REPLICATED), clean=True)
    disk.flip_bit(LOG, LAST + 70)
    log = open_log(disk, REPLICATED, clean=True, recovery_point=10)
    for deletion in log.truncate_at_lost():
        deletion.run()
    assert log.end == 9
    found = other.read(9, 1 << 20, end=10)
    assert found is not None
    records = memoryview(bytearray(found.slice.read()))
    log.append_as_follower(records, list(iter_batches(records)), now_ms=NOW)
    log.forget_lost()
    log.close(clean=True)
    again = open_log(disk, REPLICATED, clean=True, recovery_point=10)
    assert (again.lost, again.end, again.recovery.losses) == (None, 10, [])
    assert offsets(again) == list(range(10))
    assert again.leader_epochs.entries == other.leader_epochs.entries


def test_the_epoch_of_what_was_lost_is_still_known() -> None:
    disk = written(9, REPLICATED)  # the third epoch wrote the last batch alone
    disk.flip_bit(LOG, 8 * BATCH_BYTES + 70)
    log = open_log(disk, REPLICATED, clean=True, recovery_point=9)
    assert log.leader_epochs.entries == [(0, 0), (1, 4), (2, 8)]


def test_replicas_that_a_topic_gets_later_do_not_keep_its_leader_from_leading() -> None:
    disk = written()
    disk.flip_bit(LOG, LAST + 70)
    open_log(disk, clean=True, recovery_point=10).close(clean=True)
    log = open_log(disk, REPLICATED, clean=True, recovery_point=10)
    assert log.lost is None
    assert log.recovery.losses


def test_what_is_deleted_is_lost_no_longer() -> None:
    disk = written()
    disk.flip_bit(LOG, LAST + 70)
    open_log(disk, clean=True, recovery_point=10).close(clean=True)
    log = open_log(disk, clean=True, recovery_point=10, log_start=10)
    assert log.lost is None
    assert not disk.exists(MARK)


def test_a_power_cut_at_any_moment_of_the_recovery_loses_neither_bytes_nor_the_word_of_the_loss() -> None:
    cut_at = 0
    while True:
        disk = written()
        damaged = bytearray(disk.open(LOG).read_at(0, 1 << 20))
        damaged[LAST + 70] ^= 1
        file = disk.open(LOG)
        file.write_at(0, [damaged])
        file.sync()
        cut_at += 1
        disk.power_cut_at = disk.operations + cut_at
        try:
            open_log(disk, clean=True, recovery_point=10)
        except PowerCut:
            disk.crash()
        else:
            break
        log = open_log(disk, recovery_point=10)  # the mark of the clean stop is gone by now
        assert (told(disk), log.end) == (LostRange(9, 10, 2, is_final=True), 10), cut_at
        assert disk.open(f"{LOG}.damaged-{LAST}").read_at(0, 1 << 20) == damaged[LAST:], cut_at
    assert cut_at > 8


def test_a_damaged_mark_counts_for_the_whole_log() -> None:
    disk = written(config=REPLICATED)
    disk.flip_bit(LOG, LAST + 70)
    open_log(disk, REPLICATED, clean=True, recovery_point=10).close(clean=True)
    disk.flip_bit(MARK, 4)
    log = open_log(disk, REPLICATED, clean=True, recovery_point=10)
    assert log.lost == LostRange(0, 10, 2)
    assert any("lost-range-checkpoint is damaged" in line for line in log.recovery.lines())


def test_a_damaged_mark_is_written_anew_even_where_nothing_else_is_known() -> None:
    disk = MemoryDisk()
    disk.make_dirs(PARTITION_DIR)
    lost_range.write(disk, PARTITION_DIR, LostRange(0, 1))
    disk.flip_bit(MARK, 4)
    log = open_log(disk, REPLICATED)
    assert told(disk) == log.lost == LostRange(0, 1)


def test_the_epoch_of_the_last_batch_counts_where_the_file_of_epochs_is_older_than_that() -> None:
    disk = written(8, REPLICATED)
    epochs = disk.open(f"{PARTITION_DIR}/leader-epoch-checkpoint").read_at(0, 1 << 10)
    log = open_log(disk, REPLICATED, clean=True, recovery_point=8)
    for number in (8, 9):
        append(log, number, epoch=5)
    log.close(clean=False)
    file = disk.open(f"{PARTITION_DIR}/leader-epoch-checkpoint")
    file.truncate(0)
    file.write_at(0, [epochs])  # the new one was never synced
    disk.flip_bit(LOG, 7 * BATCH_BYTES + 70)
    log = open_log(disk, REPLICATED, recovery_point=8)
    assert log.leader_epochs.latest == 5
    # By its epoch another replica proves that it has what was lost: under epoch 1 it may have others.
    assert log.lost == told(disk) == LostRange(7, 10, 5)
