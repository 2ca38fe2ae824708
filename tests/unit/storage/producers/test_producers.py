import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.storage.producers.producers import Duplicate, EndedTransaction, Producers
from tidelog.wire.batch import CONTROL, TRANSACTIONAL, BatchHeader
from tidelog.wire.record import Control, ControlType

SEQUENCE_MAX = 2**31 - 1


def header(
    sequence: int, count: int = 1, *, epoch: int = 0, producer_id: int = 7, attributes: int = 0
) -> BatchHeader:
    return BatchHeader(
        0, 49, 0, 2, 0, attributes, count - 1, 1_000, 1_000, producer_id, epoch, sequence, count
    )


def written(*batches: BatchHeader) -> Producers:
    producers = Producers()
    offset = 0
    for batch in batches:
        producers.note(batch, offset)
        offset += batch.record_count
    return producers


def refusal(producers: Producers, batch: BatchHeader) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        producers.check(batch)
    return caught.value.code


def test_an_unknown_producer_may_start_anywhere() -> None:
    assert Producers().check(header(0)) is None
    assert Producers().check(header(41)) is None


def test_the_next_sequence_is_accepted_and_a_gap_is_not() -> None:
    producers = written(header(0, 3))
    assert producers.check(header(3)) is None
    assert refusal(producers, header(4)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refusal(producers, header(2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_retry_of_one_of_the_last_five_batches_gets_its_old_offsets() -> None:
    producers = written(*(header(2 * number, 2) for number in range(7)))
    assert producers.check(header(12, 2)) == Duplicate(12, 13, 1_000)
    assert producers.check(header(4, 2)) == Duplicate(4, 5, 1_000)
    assert refusal(producers, header(2, 2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refusal(producers, header(12, 1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap() -> None:
    producers = written(header(SEQUENCE_MAX - 1, 2))
    assert producers.check(header(0)) is None
    producers.note(header(0, 1), 2)
    assert producers.check(header(SEQUENCE_MAX - 1, 2)) == Duplicate(0, 1, 1_000)

    across = written(header(SEQUENCE_MAX, 3))
    assert across.check(header(2)) is None
    assert across.check(header(SEQUENCE_MAX, 3)) == Duplicate(0, 2, 1_000)


def test_an_old_epoch_is_refused_and_a_new_one_starts_at_zero() -> None:
    producers = written(header(0, 3, epoch=4))
    assert refusal(producers, header(3, epoch=3)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert refusal(producers, header(3, epoch=5)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.check(header(0, epoch=5)) is None


def test_a_new_epoch_forgets_the_batches_of_the_old_one() -> None:
    producers = written(header(0, 3), header(0, 1, epoch=1))
    assert producers.check(header(0, 1, epoch=1)) == Duplicate(3, 3, 1_000)
    assert refusal(producers, header(0, 3, epoch=1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_batches_without_sequences_are_checked_for_their_epoch_only() -> None:
    producers = written(header(0, 3, epoch=4))
    assert producers.check(header(-1, epoch=4)) is None
    assert refusal(producers, header(-1, epoch=3)) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_transaction_is_open_from_its_first_batch_to_its_marker() -> None:
    producers = written(
        header(0, 2, attributes=TRANSACTIONAL),
        header(2, 2, attributes=TRANSACTIONAL),
        header(0, 1, attributes=TRANSACTIONAL, producer_id=9),
    )
    assert producers.first_open == 0
    assert refusal(producers, header(4)) == ErrorCode.INVALID_TXN_STATE
    marker = header(-1, attributes=TRANSACTIONAL | CONTROL)
    ended = producers.note(marker, 5, Control(ControlType.ABORT, 3))
    assert ended == EndedTransaction(7, first=0, last=5, aborted=True, stable=4)
    assert producers.first_open == 4
    assert producers.check(header(4)) is None


def test_a_marker_of_an_old_coordinator_is_fenced() -> None:
    producers = written(header(0, attributes=TRANSACTIONAL))
    marker = header(-1, attributes=TRANSACTIONAL | CONTROL)
    producers.note(marker, 1, Control(ControlType.COMMIT, 3))
    with pytest.raises(KafkaError) as caught:
        producers.check_marker(marker, Control(ControlType.COMMIT, 2))
    assert caught.value.code == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    producers.check_marker(marker, Control(ControlType.COMMIT, 3))


def test_a_marker_without_a_transaction_ends_none() -> None:
    producers = written(header(0))
    marker = header(-1, attributes=TRANSACTIONAL | CONTROL)
    assert producers.note(marker, 1, Control(ControlType.COMMIT, 1)) is None


def test_silent_producers_expire_unless_a_transaction_is_open() -> None:
    producers = written(header(0), header(0, producer_id=9, attributes=TRANSACTIONAL))
    assert producers.expire(now_ms=1_999, expiration_ms=1_000) == 0
    assert producers.expire(now_ms=2_000, expiration_ms=1_000) == 1
    assert producers.get(7) is None
    assert producers.get(9) is not None


def test_batches_of_no_producer_leave_no_trace() -> None:
    assert len(written(header(-1, producer_id=-1, epoch=-1))) == 0


def marker_header(epoch: int) -> BatchHeader:
    return header(-1, epoch=epoch, attributes=CONTROL | TRANSACTIONAL)


def marker_refusal(
    producers: Producers, epoch: int, coordinator_epoch: int = 0, version: int = 0
) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        producers.check_marker(
            marker_header(epoch), Control(ControlType.ABORT, coordinator_epoch), version=version
        )
    return caught.value.code


def test_a_marker_of_an_older_epoch_or_coordinator_is_refused() -> None:
    producers = written(header(0, epoch=3, attributes=TRANSACTIONAL))
    commit = Control(ControlType.COMMIT, 5)
    producers.check_marker(marker_header(3), commit)
    producers.note(marker_header(3), 1, commit)
    assert marker_refusal(producers, 2, 9) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert marker_refusal(producers, 3, 4) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    producers.check_marker(marker_header(3), commit)


def test_with_kip_890_a_marker_brings_a_new_epoch_or_has_been_written_before() -> None:
    producers = written(header(0, epoch=3, attributes=TRANSACTIONAL))
    assert marker_refusal(producers, 3, version=2) is ErrorCode.INVALID_PRODUCER_EPOCH
    commit = Control(ControlType.COMMIT, 0)
    producers.check_marker(marker_header(4), commit, version=2)
    producers.note(marker_header(4), 1, commit)
    producers.check_marker(marker_header(4), commit, version=2)
    assert producers.check(header(0, epoch=4, attributes=TRANSACTIONAL)) is None
    assert refusal(producers, header(1, epoch=4)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refusal(producers, header(1, epoch=3)) is ErrorCode.INVALID_PRODUCER_EPOCH
    producers.note(header(0, epoch=4, attributes=TRANSACTIONAL), 2)
    assert marker_refusal(producers, 4, version=2) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_the_last_epoch_of_all_may_mark_what_it_wrote() -> None:
    last = 2**15 - 1
    producers = written(header(0, epoch=last, attributes=TRANSACTIONAL))
    producers.check_marker(marker_header(last), Control(ControlType.ABORT, 0), version=2)


def test_an_open_transaction_never_expires() -> None:
    producers = written(header(0, attributes=TRANSACTIONAL))
    assert producers.expire(10**15, 1) == 0
    assert producers.has_open(7, 0)
    assert not producers.has_open(7, 1)
    producers.note(marker_header(0), 1, Control(ControlType.COMMIT, 0))
    assert producers.expire(10**15, 1) == 1
    assert not producers.has_open(7, 0)


def test_transactions_of_a_snapshot_are_in_order() -> None:
    first = written(header(0, producer_id=1, attributes=TRANSACTIONAL))
    first.note(header(0, producer_id=2, attributes=TRANSACTIONAL), 1)
    loaded = Producers()
    for producer_id, producer in reversed(list(first)):
        loaded.put(producer_id, producer)
    assert loaded.first_open == 0
