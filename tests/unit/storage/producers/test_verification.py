import pytest

from tests.rigs import log as log_rig
from tests.rigs.log import NOW_MS, append, end_transaction
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.producers.verification import VerificationGuard
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.batch import TRANSACTIONAL, BatchHeader
from tidelog.wire.record import ControlType


def header(sequence: int = 0, *, epoch: int = 0, transactional: bool = True) -> BatchHeader:
    attributes = TRANSACTIONAL if transactional else 0
    return BatchHeader(0, 49, 0, 2, 0, attributes, 0, NOW_MS, NOW_MS, 7, epoch, sequence, 1)


def begin(
    log: PartitionLog, sequence: int = 0, *, epoch: int = 0, second_protocol: bool = False
) -> VerificationGuard | None:
    return log.producer_state.begin_verification(7, epoch, sequence, NOW_MS, ends_raise_epoch=second_protocol)


def write(log: PartitionLog, sequence: int = 0) -> None:
    append(log, [(b"k", b"v")], producer_id=7, sequence=sequence, transactional=True)


def refusal(log: PartitionLog, batch: BatchHeader, guard: object) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        log.producer_state.check_verified(batch, guard)  # type: ignore[arg-type]
    return caught.value.code


@pytest.fixture
def log() -> PartitionLog:
    return log_rig.open_log(MemoryDisk(), LogConfig())


def test_the_first_batch_of_a_transaction_needs_a_guard(log: PartitionLog) -> None:
    assert refusal(log, header(), None) is ErrorCode.INVALID_TXN_STATE
    guard = begin(log)
    assert guard is not None
    log.producer_state.check_verified(header(), guard)


def test_others_need_none(log: PartitionLog) -> None:
    log.producer_state.check_verified(header(transactional=False), None)
    write(log)
    assert begin(log, 1) is None
    log.producer_state.check_verified(header(1), None)
    assert begin(log, 0, epoch=1) is not None


def test_a_marker_that_came_meanwhile_takes_the_guard_away(log: PartitionLog) -> None:
    guard = begin(log)
    end_transaction(log, 7, ControlType.ABORT)
    assert refusal(log, header(), guard) is ErrorCode.INVALID_TXN_STATE
    again = begin(log)
    assert again is not guard
    assert refusal(log, header(), guard) is ErrorCode.INVALID_TXN_STATE


def test_a_late_marker_leaves_the_guard_of_the_next_transaction(log: PartitionLog) -> None:
    """KIP-890: the marker brings the epoch that the producer has been told, and writes with already."""
    write(log)
    guard = begin(log, epoch=1, second_protocol=True)
    end_transaction(log, 7, ControlType.COMMIT, epoch=1)
    log.producer_state.check_verified(header(epoch=1), guard)
    end_transaction(log, 7, ControlType.ABORT, epoch=2)
    assert refusal(log, header(epoch=1), guard) is ErrorCode.INVALID_TXN_STATE


def test_a_marker_that_is_sent_again_leaves_the_guard_of_the_next_transaction(log: PartitionLog) -> None:
    """Its answer was lost; meanwhile the producer waits with the epoch that the first one brought."""
    write(log)
    end_transaction(log, 7, ControlType.COMMIT, epoch=1)
    guard = begin(log, epoch=1, second_protocol=True)
    end_transaction(log, 7, ControlType.COMMIT, epoch=1)
    log.producer_state.check_verified(header(epoch=1), guard)


def test_in_the_first_protocol_a_marker_has_the_epoch_of_what_it_ends(log: PartitionLog) -> None:
    guard = begin(log, epoch=1)
    end_transaction(log, 7, ControlType.ABORT, epoch=1)
    assert refusal(log, header(epoch=1), guard) is ErrorCode.INVALID_TXN_STATE


def test_a_batch_of_an_earlier_epoch_leaves_the_guard_of_the_next_transaction(log: PartitionLog) -> None:
    guard = begin(log, epoch=1, second_protocol=True)
    write(log)
    log.producer_state.check_verified(header(epoch=1), guard)


def test_a_guard_serves_one_transaction(log: PartitionLog) -> None:
    guard = begin(log)
    write(log)
    end_transaction(log, 7, ControlType.COMMIT)
    assert refusal(log, header(1), guard) is ErrorCode.INVALID_TXN_STATE


def test_batches_that_wait_together_share_a_guard_and_keep_their_order(log: PartitionLog) -> None:
    guard = begin(log, 3)
    assert begin(log, 2) is guard
    assert refusal(log, header(3), guard) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.producer_state.check_verified(header(2), guard)


def test_a_new_epoch_starts_over(log: PartitionLog) -> None:
    guard = begin(log, 0)
    assert begin(log, 5, epoch=1) is guard
    log.producer_state.check_verified(header(5, epoch=1), guard)
    begin(log, 0, epoch=0)
    log.producer_state.check_verified(header(5, epoch=1), guard)


def test_guards_that_nobody_uses_expire(log: PartitionLog) -> None:
    begin(log)
    day_ms = 24 * 3_600_000
    log.producer_state.expire(NOW_MS + day_ms - 1)
    assert len(log.producer_state.verifications) == 1
    log.producer_state.expire(NOW_MS + day_ms)
    assert len(log.producer_state.verifications) == 0


def test_a_late_batch_of_the_first_protocol_joins_the_next_transaction_if_its_number_is_due(
    log: PartitionLog,
) -> None:
    """As in Kafka, where the coordinator cannot tell them apart either: see docs/transactions.md."""
    write(log, 0)
    end_transaction(log, 7, ControlType.ABORT)
    guard = begin(log, 1)  # the coordinator says: the partition is part of the producer's open transaction
    assert log.producer_state.find_retry(header(1)) is None
    log.producer_state.check_verified(header(1), guard)
    with pytest.raises(KafkaError) as caught:
        log.producer_state.find_retry(header(2))  # of a client that does not give the number away again
    assert caught.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_late_batch_of_the_second_protocol_has_an_old_epoch(log: PartitionLog) -> None:
    write(log, 0)
    end_transaction(log, 7, ControlType.COMMIT, epoch=1)
    with pytest.raises(KafkaError) as caught:
        log.producer_state.find_retry(header(1))
    assert caught.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
