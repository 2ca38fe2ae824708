"""Cutting the end of a log, as a follower does whose leader has other records: for good, at once."""

from dataclasses import replace

import pytest

from tests.rigs.log import DIRECTORY, NOW_MS, open_log, records
from tidelog.storage.file_names import LEADER_EPOCHS
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import check_batches, read_header
from tidelog.wire.record import Record, write_batch

CONFIG = LogConfig(segment_bytes=400)
REPLICATED = replace(CONFIG, is_replicated=True)


def append(log: PartitionLog, value: bytes, epoch: int = 0) -> None:
    batch = write_batch([Record(0, NOW_MS, None, value)])
    log.append(memoryview(batch), check_batches(batch), leader_epoch=epoch, now_ms=NOW_MS)


def sync(log: PartitionLog) -> None:
    flush = log.begin_flush()
    assert flush is not None
    flush.run()
    log.finish_flush(flush)


def values(log: PartitionLog) -> list[bytes | None]:
    return [record.value for record in records(log)]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kept", [1, 5, 9])
def test_what_was_truncated_does_not_come_back_with_a_crash(seed: int, kept: int) -> None:
    disk = MemoryDisk(seed)
    log = open_log(disk, CONFIG)
    for number in range(12):
        append(log, b"old %d" % number + b"." * 40)
    sync(log)
    for deletion in log.truncate_to(kept):
        deletion.run()
    assert log.recovery_point == log.end == kept
    disk.crash()
    again = open_log(disk, CONFIG, recovery_point=kept)
    assert again.end == kept
    assert [str(value) for value in values(again)] == [f"b'old {n}{'.' * 40}'" for n in range(kept)]


@pytest.mark.parametrize("seed", range(20))
def test_what_was_truncated_does_not_show_behind_what_is_written_next(seed: int) -> None:
    disk = MemoryDisk(seed)
    log = open_log(disk, CONFIG)
    for number in range(6):
        append(log, b"old %d" % number)
    sync(log)
    log.truncate_to(2)
    append(log, b"new", epoch=1)
    disk.crash()
    again = open_log(disk, CONFIG, recovery_point=2)
    assert values(again) in ([b"old 0", b"old 1"], [b"old 0", b"old 1", b"new"])


def test_a_sync_that_began_before_a_truncation_says_nothing_of_what_came_after_it() -> None:
    log = open_log(MemoryDisk(), CONFIG)
    for number in range(4):
        append(log, b"old %d" % number)
    flush = log.begin_flush()
    assert flush is not None
    log.truncate_to(1)
    append(log, b"new")
    flush.run()
    log.finish_flush(flush)
    assert log.recovery_point <= 1


def test_one_who_led_and_wrote_nothing_gives_its_epoch_up() -> None:
    """Else it says for ever that it has records of an epoch that its leader does not know."""
    disk = MemoryDisk()
    log = open_log(disk, CONFIG)
    append(log, b"a", epoch=1)
    log.begin_epoch(2)
    assert log.leader_epochs.latest == 2
    assert log.truncate_to(log.end) == []
    assert log.leader_epochs.entries == [(1, 0)]
    assert disk.exists(f"{DIRECTORY}/{LEADER_EPOCHS}")
    assert open_log(disk, CONFIG).leader_epochs.entries == [(1, 0)]


def test_where_a_log_started_is_known_from_its_epochs() -> None:
    """What was deleted may differ from what other replicas had there: it must not show again."""
    disk = MemoryDisk()
    log = open_log(disk, CONFIG)
    for epoch in (0, 0, 3, 4):
        append(log, b"x", epoch)
    sync(log)
    log.delete_before(3)
    assert log.leader_epochs.entries == [(4, 3)]
    again = open_log(disk, CONFIG, recovery_point=4)
    assert again.start == 3
    assert again.leader_epochs.entries == [(4, 3)]


def test_all_deleted_stays_deleted() -> None:
    disk = MemoryDisk()
    log = open_log(disk, CONFIG)
    append(log, b"x")
    sync(log)
    log.delete_before(1)
    again = open_log(disk, CONFIG, recovery_point=1)
    assert (again.start, again.end) == (1, 1)


def test_epochs_that_are_missing_are_learned_from_the_batches() -> None:
    disk = MemoryDisk()
    log = open_log(disk, CONFIG)
    for epoch in (0, 0, 3, 4):
        append(log, b"x", epoch)
    sync(log)
    disk.remove(f"{DIRECTORY}/{LEADER_EPOCHS}")
    assert open_log(disk, CONFIG, recovery_point=4).leader_epochs.entries == [(0, 0), (3, 2), (4, 3)]


def test_an_epoch_file_that_is_newer_than_the_batches_is_not_believed() -> None:
    disk = MemoryDisk()
    log = open_log(disk, CONFIG)
    append(log, b"a", epoch=1)
    sync(log)
    log.begin_epoch(5)  # on the disk
    before = disk.open(f"{DIRECTORY}/{LEADER_EPOCHS}").read_at(0, 100)
    log.truncate_to(1)
    batch = write_batch([Record(1, NOW_MS, None, b"b")], base_offset=1, leader_epoch=3)
    log.append_as_follower(memoryview(batch), [(0, read_header(batch))], now_ms=NOW_MS)
    file = disk.open(f"{DIRECTORY}/{LEADER_EPOCHS}")
    file.truncate(0)
    file.write_at(0, [before])  # the crash undid the change of the epoch file, but not the batch
    assert open_log(disk, CONFIG, recovery_point=1).leader_epochs.entries == [(1, 0), (3, 1)]


def damage(disk: MemoryDisk, log: PartitionLog, offset: int) -> None:
    for segment in reversed(log.segments):
        if segment.base <= offset:
            position, _ = segment.locate(offset)
            disk.flip_bit(f"{segment.path}.log", position + 65)
            return


@pytest.mark.parametrize(("lost", "recovery_point"), [(7, 6), (3, 2), (2, 2)])
def test_a_replicated_log_ends_before_a_hole(lost: int, recovery_point: int) -> None:
    disk = MemoryDisk()
    log = open_log(disk, REPLICATED)
    for number in range(12):
        append(log, b"%02d" % number + b"." * 60)
    assert len(log.segments) > 3
    damage(disk, log, lost)
    again = open_log(disk, REPLICATED, recovery_point=recovery_point)
    assert again.end == lost
    assert [value[:2] for value in values(again) if value] == [b"%02d" % n for n in range(lost)]
    [hole] = again.recovery.holes
    assert hole.first_missing == lost
    assert disk.exists(hole.kept_in)
    append(again, b"next", epoch=1)
    once_more = open_log(disk, REPLICATED, recovery_point=lost)
    assert once_more.end == lost + 1
    assert not once_more.recovery.holes


def test_a_log_that_nobody_else_has_keeps_what_lies_behind_a_hole() -> None:
    disk = MemoryDisk()
    log = open_log(disk, CONFIG)
    for number in range(12):
        append(log, b"%02d" % number + b"." * 60)
    damage(disk, log, 7)
    again = open_log(disk, CONFIG, recovery_point=0)
    assert again.end == 12
    assert len(values(again)) == 11


def test_damage_below_what_was_synced_does_not_cost_a_replica_the_rest() -> None:
    disk = MemoryDisk()
    log = open_log(disk, REPLICATED)
    for number in range(12):
        append(log, b"%02d" % number + b"." * 60)
    sync(log)
    damage(disk, log, 2)
    again = open_log(disk, REPLICATED, recovery_point=12)
    assert again.end == 12


def test_the_end_of_a_segment_that_is_lost_takes_the_next_segments_with_it() -> None:
    disk = MemoryDisk()
    log = open_log(disk, REPLICATED)
    for number in range(12):
        append(log, b"%02d" % number + b"." * 60)
    second = log.segments[1]
    disk.open(f"{second.path}.log").truncate(0)
    again = open_log(disk, REPLICATED, recovery_point=0)
    assert again.end == second.base
    assert open_log(disk, REPLICATED, recovery_point=0).end == second.base


def test_a_crash_between_a_truncation_and_its_checkpoint_is_noticed() -> None:
    """Else what is appended next would be taken for synced at the start after that."""
    disk = MemoryDisk()
    log = open_log(disk, CONFIG)
    for number in range(4):
        append(log, b"old %d" % number)
    sync(log)
    log.truncate_to(1)
    assert open_log(disk, CONFIG, recovery_point=4).recovery.trusts_too_much
    assert not open_log(disk, CONFIG, recovery_point=1).recovery.trusts_too_much
    assert not open_log(disk, CONFIG).recovery.trusts_too_much
