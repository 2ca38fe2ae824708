"""Compaction of transactions: data of aborted ones goes, then their markers, and readers never notice."""

import pytest

from tests.rigs import log as log_rig
from tests.rigs.log import NOW_MS, append, end_transaction
from tidelog.base.ids import TimestampMs
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.record import ControlType

DAY_MS = 24 * 3_600_000


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


@pytest.fixture
def log(disk: MemoryDisk) -> PartitionLog:
    return log_rig.open_log(disk, LogConfig(compact=True, delete=False))


def transaction(log: PartitionLog, key: bytes, how: ControlType, sequence: int, producer_id: int = 1) -> None:
    append(log, [(key, b"v")], producer_id=producer_id, sequence=sequence, transactional=True)
    end_transaction(log, producer_id, how)


def compact(log: PartitionLog, now_ms: TimestampMs = NOW_MS) -> None:
    log.roll(now_ms)
    log.compaction.cleaned_to = None
    log_rig.compact(log, now_ms=now_ms)


def markers(log: PartitionLog) -> list[int]:
    return [header.base_offset for header, _ in log_rig.batches(log) if header.is_control]


def offsets(log: PartitionLog) -> list[int]:
    return [record.offset for record in log_rig.records(log)]


def test_a_marker_outlives_the_data_by_the_delete_retention(log: PartitionLog) -> None:
    transaction(log, b"a", ControlType.ABORT, 0)
    transaction(log, b"b", ControlType.COMMIT, 1)
    transaction(log, b"b", ControlType.COMMIT, 2)
    append(log, [(b"c", b"v")])
    assert log.producer_state.aborted_between(0, 9) == [(1, 0)]
    compact(log)
    assert offsets(log) == [4, 6], "what is aborted or outdated"
    assert markers(log) == [1, 3, 5], "in this run each of them had data"
    compact(log)
    compact(log, NOW_MS + DAY_MS - 1)
    assert markers(log) == [1, 3, 5], "alone now, with a day to live"
    assert log.producer_state.aborted_between(0, 9) == [(1, 0)]
    compact(log, NOW_MS + DAY_MS)
    assert markers(log) == [5]
    assert offsets(log) == [4, 6]
    assert log.producer_state.aborted_between(0, 9) == [], "a reader would wait in vain for the marker"


def test_the_last_batch_of_a_producer_leaves_its_sequence(disk: MemoryDisk, log: PartitionLog) -> None:
    transaction(log, b"a", ControlType.ABORT, 0)
    append(log, [(b"c", b"v")])
    for _ in range(3):
        compact(log, NOW_MS + DAY_MS)
    assert offsets(log) == [2]
    assert markers(log) == [1], "the empty batch still belongs to it"
    producer = log.producers.get(1)
    assert producer is not None
    assert producer.last_sequence == 0
    log.close()
    again = log_rig.open_log(disk, LogConfig())
    kept = again.producers.get(1)
    assert kept is not None
    assert kept.last_sequence == 0


def test_the_marker_that_tells_a_producers_epoch_stays(log: PartitionLog) -> None:
    end_transaction(log, 5, ControlType.ABORT)
    append(log, [(b"c", b"v")])
    for day in range(3):
        compact(log, NOW_MS + day * DAY_MS)
    assert markers(log) == [0]
    log.producers.expire(NOW_MS + 99 * DAY_MS, 1)
    for day in range(3):
        compact(log, NOW_MS + day * DAY_MS)
    assert markers(log) == []


def test_a_clean_part_is_left_in_peace(log: PartitionLog) -> None:
    transaction(log, b"a", ControlType.COMMIT, 0)
    log.roll(NOW_MS)
    log_rig.compact(log)
    transaction(log, b"b", ControlType.ABORT, 1)
    append(log, [(b"c", b"v")])
    log.roll(NOW_MS)
    log_rig.compact(log)
    assert offsets(log) == [0, 4]
    assert markers(log) == [1, 3]


def test_an_index_that_is_empty_now_takes_the_place_of_the_old_one_even_in_a_crash(
    disk: MemoryDisk, log: PartitionLog
) -> None:
    transaction(log, b"a", ControlType.ABORT, 0)
    append(log, [(b"c", b"v")], producer_id=1, sequence=1)
    for _ in range(2):
        compact(log)
    log.roll(NOW_MS)
    log.compaction.cleaned_to = None
    later_ms = NOW_MS + DAY_MS
    compaction = log.compaction.begin(log.compaction.cleanable(log.end, later_ms), later_ms, 1 << 20)
    compaction.map_keys(log_rig.no_pace)
    [group] = compaction.groups()
    assert compaction.clean(group, log_rig.no_pace) is not None
    path = log.segments[0].path
    log.close()
    disk.rename(path + ".log.cleaned", path + ".log.swap")  # decided, and then the power fails
    again = log_rig.open_log(disk, LogConfig(compact=True, delete=False), recovery_point=log.end)
    assert markers(again) == []
    assert again.producer_state.aborted_between(0, 9) == []
