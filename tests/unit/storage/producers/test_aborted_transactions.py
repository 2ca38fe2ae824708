"""The aborted transactions of a log: written with their markers, found by readers, true after every crash."""

import pytest

from tests.rigs import log as log_rig
from tests.rigs.log import DIRECTORY, NOW_MS, append, end_transaction
from tidelog.base.errors import KafkaError
from tidelog.base.ids import Offset
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.segment.transaction_index import Aborted, TransactionIndex
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.record import ControlType

ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


@pytest.fixture
def log(disk: MemoryDisk) -> PartitionLog:
    return log_rig.open_log(disk, LogConfig())


class Writer:
    """A transactional producer."""

    def __init__(self, log: PartitionLog, number: int) -> None:
        self.log, self.number, self.sequence = log, number, 0

    def write(self, count: int = 1) -> Offset:
        pairs = [(b"k", b"v")] * count
        base = append(self.log, pairs, producer_id=self.number, sequence=self.sequence, transactional=True)
        self.sequence += count
        return base

    def end(self, how: ControlType) -> Offset:
        return end_transaction(self.log, self.number, how)


def reopened(disk: MemoryDisk, *, clean: bool, recovery_point: Offset | None = None) -> PartitionLog:
    return PartitionLog.open(
        disk, DIRECTORY, LogConfig(), now_ms=NOW_MS, clean=clean, recovery_point=recovery_point
    )


def test_only_aborted_ones_are_listed(log: PartitionLog) -> None:
    first, second = Writer(log, 1), Writer(log, 2)
    first.write(2)
    second.write()
    assert log.producer_state.aborted_between(0, 10) == []
    first.end(ABORT)
    second.end(COMMIT)
    first.write()
    first.end(ABORT)
    assert log.producer_state.aborted_between(0, 10) == [(1, 0), (1, 5)]
    assert log.producer_state.aborted_between(4, 10) == [(1, 5)]
    assert log.producer_state.aborted_between(0, 5) == [(1, 0)]
    assert log.producer_state.aborted.between(0, 1) == [Aborted(1, 0, 3, 2)], (
        "the other one was open: stable up to there"
    )


def test_a_log_without_transactions_has_no_index(disk: MemoryDisk, log: PartitionLog) -> None:
    append(log, [(b"k", b"v")])
    writer = Writer(log, 1)
    writer.write()
    writer.end(COMMIT)
    assert log.producer_state.aborted_between(0, 10) == []
    assert not [name for name in disk.names(DIRECTORY) if name.endswith(".txnindex")]


def test_a_marker_without_data_is_no_transaction(log: PartitionLog) -> None:
    Writer(log, 1).end(ABORT)
    assert log.producer_state.aborted_between(0, 10) == []


def test_a_transaction_that_spans_segments_is_found_in_each(log: PartitionLog) -> None:
    writer = Writer(log, 1)
    writer.write()
    log.roll(NOW_MS)
    writer.write()
    log.roll(NOW_MS)
    append(log, [(b"k", b"v")])
    writer.end(ABORT)
    log.roll(NOW_MS)
    append(log, [(b"k", b"v")])
    assert (
        log.producer_state.aborted_between(0, 1)
        == log.producer_state.aborted_between(1, 2)
        == log.producer_state.aborted_between(2, 3)
        == [(1, 0)]
    )
    assert log.producer_state.aborted_between(4, 5) == []


def test_what_was_read_tells_how_far_to_look(disk: MemoryDisk) -> None:
    log = log_rig.open_log(disk, LogConfig(index_interval_bytes=1))
    for number in range(20):
        writer = Writer(log, number)
        writer.write()
        writer.end(ABORT)
    found = log.read(4, 1, end=log.end)
    assert found is not None
    near = log.producer_state.aborted_in(found, 4, log.end)
    assert near[0] == (2, 4)
    assert len(near) <= 2
    whole = log.read(4, 1 << 20, end=log.end)
    assert whole is not None
    assert log.producer_state.aborted_in(whole, 4, log.end) == [
        (number, 2 * number) for number in range(2, 20)
    ]
    assert log.producer_state.aborted_in(whole, 4, 8) == [(2, 4), (3, 6)]


def test_a_directory_that_cannot_be_listed_is_a_storage_error(disk: MemoryDisk, log: PartitionLog) -> None:
    append(log, [(b"k", b"v")])
    found = log.read(0, 1 << 20, end=log.end)
    assert found is not None
    disk.fail("read", DIRECTORY)
    log.producer_state.aborted._bases_known = None
    with pytest.raises(KafkaError, match="cannot read"):
        log.producer_state.aborted_in(found, 0, log.end)


def test_a_flipped_bit_in_the_file_misleads_no_reader(disk: MemoryDisk, log: PartitionLog) -> None:
    """Whose transaction it was, where it began and where it ended can be told from the batches."""
    append(log, [(b"k", b"v")] * 8)
    for number in (5, 6):
        writer = Writer(log, number)
        writer.write()
        writer.end(ABORT)
    log.close(clean=True)
    path = f"{DIRECTORY}/{0:020d}.txnindex"
    whole = disk.open(path).read_at(0, 1000)
    for at in range(8 * len(whole)):
        entry, field = divmod(at // 8, 34)
        if (
            field >= 26
        ):  # up to where the log was stable then: how far a reader must look, which is no harm here
            continue
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        disk.open(path).write_at(0, [flipped])
        again = reopened(disk, clean=True)
        assert again.producer_state.aborted_between(0, 100) == [(5, 8), (6, 10)], (entry, field)
        again.close(clean=False)


def test_they_are_known_after_a_clean_restart(disk: MemoryDisk, log: PartitionLog) -> None:
    writer = Writer(log, 1)
    writer.write()
    writer.end(ABORT)
    writer.write()
    log.close()
    log = reopened(disk, clean=True)
    assert log.producer_state.aborted_between(0, 10) == [(1, 0)]
    Writer(log, 1).end(ABORT)
    assert log.producer_state.aborted_between(0, 10) == [(1, 0), (1, 2)]


@pytest.mark.parametrize("seed", range(8))
def test_after_a_crash_they_are_those_whose_markers_survived(seed: int) -> None:
    disk = MemoryDisk(seed)
    log = log_rig.open_log(disk, LogConfig())
    recovery_point = None
    for number in range(6):
        writer = Writer(log, number % 2)
        writer.write()
        writer.sequence += 10
        writer.end(ABORT if number % 3 else COMMIT)
        if number == 2:
            log.roll(NOW_MS)
            flush = log.begin_flush()
            assert flush is not None
            flush.run()
            log.finish_flush(flush)
            recovery_point = log.recovery_point
    everything = log.producer_state.aborted_between(0, 99)
    disk.crash()
    log = reopened(disk, clean=False, recovery_point=recovery_point)
    survived = [(producer, first) for producer, first in everything if first + 1 < log.end]
    assert log.producer_state.aborted_between(0, 99) == survived
    writer = Writer(log, 9)
    writer.write()
    writer.end(ABORT)
    assert log.producer_state.aborted_between(0, 99) == [*survived, (9, log.end - 2)]


def test_damage_is_repaired_from_the_batches(disk: MemoryDisk, log: PartitionLog) -> None:
    writer = Writer(log, 1)
    writer.write()
    writer.end(ABORT)
    writer.write()
    log.roll(NOW_MS)
    writer.write()
    writer.end(ABORT)
    log.roll(NOW_MS)
    told = log.producer_state.aborted_between(0, 99)
    log.close()
    for segment in log.segments[:2]:
        disk.open(segment.path + ".txnindex").write_at(0, [b"\x07" * 34])
    log = reopened(disk, clean=True)
    assert log.producer_state.aborted_between(0, 99) == told == [(1, 0), (1, 2)]
    raw = disk.open(log.segments[1].path + ".txnindex").read_at(0, 99)
    assert TransactionIndex.load(3, raw).entries == [Aborted(1, 2, 4, 5)]


def test_truncation_takes_them_back(disk: MemoryDisk, log: PartitionLog) -> None:
    writer = Writer(log, 1)
    writer.write()
    writer.end(ABORT)
    writer.write()
    writer.end(ABORT)
    log.roll(NOW_MS)
    writer.write()
    writer.end(ABORT)
    log.truncate_to(3)
    assert log.producer_state.aborted_between(0, 99) == [(1, 0)]
    assert log.producers.first_open == 2
    writer.end(ABORT)
    assert log.producer_state.aborted_between(0, 99) == [(1, 0), (1, 2)]
    log.truncate_fully_at(10)
    assert log.producer_state.aborted_between(0, 99) == []
    assert not [name for name in disk.names(DIRECTORY) if name.endswith(".txnindex")]


def test_retention_takes_them_with_their_segments_but_no_open_transaction(disk: MemoryDisk) -> None:
    log = log_rig.open_log(disk, LogConfig(retention_bytes=0))
    writer, patient = Writer(log, 1), Writer(log, 2)
    writer.write()
    writer.end(ABORT)
    log.roll(NOW_MS)
    patient.write()
    writer.write()
    writer.end(ABORT)
    log.roll(NOW_MS)
    assert [deletion.base for deletion in log.retire(NOW_MS)] == [0]
    assert log.producer_state.aborted_between(0, 99) == [(1, 3)]
    patient.end(COMMIT)
    assert len(log.retire(NOW_MS)) == 2
    assert log.producer_state.aborted_between(0, 99) == []


def test_a_follower_keeps_them_too(log: PartitionLog) -> None:
    follower = log_rig.open_log(MemoryDisk(), LogConfig())
    writer = Writer(log, 1)
    writer.write()
    writer.end(ABORT)
    for header, batch in log_rig.batches(log):
        follower.append_as_follower(batch, [(0, header)], now_ms=NOW_MS)
    assert follower.producer_state.aborted_between(0, 99) == [(1, 0)]


def test_nothing_is_stable_before_its_marker_is_replicated(log: PartitionLog) -> None:
    first, second = Writer(log, 1), Writer(log, 2)
    append(log, [(b"k", b"v")])
    assert log.first_unstable(1) is None
    first.write()
    second.write()
    assert log.first_unstable(3) == 1
    marker = first.end(COMMIT)
    assert log.first_unstable(marker) == 1
    assert log.first_unstable(marker + 1) == 2
    assert log.first_unstable(marker + 1) == 2
    last = second.end(ABORT)
    assert log.first_unstable(last) == 2
    assert log.first_unstable(last + 1) is None
    assert not log.producers.ended


def test_what_is_deleted_holds_nobody_up(log: PartitionLog) -> None:
    writer = Writer(log, 1)
    writer.write(5)
    log.delete_before(3)
    assert log.first_unstable(5) == 3
