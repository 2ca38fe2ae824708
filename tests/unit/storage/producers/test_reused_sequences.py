"""Numbers that were given to records of two transactions: the second ones are not taken for a retry."""

import pytest

from tests.rigs.log import NOW_MS, KeyValue, append, compact, end_transaction, open_log
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.storage.admission import admit
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.record import ControlType, Record, write_batch

PRODUCER = 7
FIRST: list[KeyValue] = [(b"k", b"first"), (b"l", b"first")]
SECOND: list[KeyValue] = [(b"k", b"other"), (b"l", b"other")]


def write(log: PartitionLog, pairs: list[KeyValue], sequence: int = 0) -> int:
    return append(log, pairs, producer_id=PRODUCER, sequence=sequence, transactional=True)


def aborted(disk: MemoryDisk, *, compacted: bool = False) -> PartitionLog:
    log = open_log(disk, LogConfig(compact=compacted))
    write(log, FIRST)
    end_transaction(log, PRODUCER, ControlType.ABORT)
    return log


def test_other_records_with_the_numbers_of_an_aborted_transaction_are_refused() -> None:
    log = aborted(MemoryDisk())
    with pytest.raises(KafkaError) as refused:
        write(log, SECOND)
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.end == 3
    assert write(log, SECOND, sequence=2) == 3, "the next numbers are taken"
    with pytest.raises(KafkaError):
        write(log, SECOND)


def test_the_same_batch_is_a_retry_even_after_its_transaction() -> None:
    log = aborted(MemoryDisk())
    assert write(log, FIRST) == 0
    assert log.end == 3


def test_within_a_transaction_numbers_are_enough() -> None:
    log = open_log(MemoryDisk(), LogConfig())
    write(log, FIRST)
    assert write(log, SECOND) == 0, "batches that are built anew may differ"
    assert log.end == 2


@pytest.mark.parametrize("clean", [True, False])
def test_it_is_known_after_a_restart(clean: bool) -> None:
    disk = MemoryDisk()
    aborted(disk).close(clean)
    log = open_log(disk, LogConfig(), recovery_point=3 if clean else None)
    with pytest.raises(KafkaError):
        write(log, SECOND)
    assert write(log, FIRST) == 0


def test_numbers_are_enough_where_the_log_has_another_batch_than_was_sent() -> None:
    log = aborted(MemoryDisk(), compacted=True)
    log.roll(NOW_MS)
    compact(log)
    assert write(log, SECOND) == 0, "compaction took the records, and the CRC with them"


def test_numbers_are_enough_where_the_batch_is_gone() -> None:
    log = aborted(MemoryDisk())
    log.roll(NOW_MS)
    write(log, FIRST, sequence=2)
    log.delete_before(4)
    log.retire(NOW_MS)
    assert write(log, SECOND) == 0


def test_numbers_are_enough_where_the_broker_gave_the_time() -> None:
    config = LogConfig(log_append_time=True)
    log = open_log(MemoryDisk(), config)
    for later in (0, 5):
        batch = write_batch(
            [Record(0, NOW_MS, None, b"v")],
            producer_id=PRODUCER,
            producer_epoch=0,
            base_sequence=0,
            transactional=True,
        )
        admitted = admit(memoryview(batch), config, now_ms=NOW_MS + later)
        appended = log.append(admitted.records, admitted.batches, leader_epoch=0, now_ms=NOW_MS + later)
        assert appended.duplicate == bool(later)
        if not later:
            end_transaction(log, PRODUCER, ControlType.ABORT)
