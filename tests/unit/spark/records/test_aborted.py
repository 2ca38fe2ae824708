"""Which batches a reader of committed records sees, told as little transcripts."""

from tidelog.spark.records.aborted import AbortedFilter
from tidelog.wire.batch import read_header
from tidelog.wire.record import ControlType, Record, write_batch, write_control_batch


def data(offset: int, producer: int, *, transactional: bool = True) -> bytearray:
    return write_batch(
        [Record(offset, 0, None, b"x")],
        base_offset=offset,
        producer_id=producer,
        producer_epoch=0,
        base_sequence=0,
        transactional=transactional,
    )


def marker(offset: int, producer: int, kind: ControlType) -> bytearray:
    return write_control_batch(
        kind, producer_id=producer, producer_epoch=0, coordinator_epoch=0, timestamp=0, base_offset=offset
    )


def seen(aborted: list[tuple[int, int]], *batches: bytearray) -> list[int]:
    kept = AbortedFilter(aborted)
    headers = [(batch, read_header(batch)) for batch in batches]
    return [header.base_offset for batch, header in headers if not kept.drops(batch, header)]


def test_an_aborted_transaction_ends_with_its_marker() -> None:
    log = [
        data(0, 7),
        data(1, 7),
        marker(2, 7, ControlType.ABORT),
        data(3, 7),
        marker(4, 7, ControlType.COMMIT),
    ]
    assert seen([(7, 0)], *log) == [3]
    assert seen([], *log) == [0, 1, 3]


def test_only_the_producer_that_aborted_is_left_out() -> None:
    log = [
        data(0, 7),
        data(1, 8),
        data(2, 7, transactional=False),
        marker(3, 7, ControlType.ABORT),
        data(4, 8),
    ]
    assert seen([(7, 0)], *log) == [1, 2, 4]


def test_a_transaction_that_begins_later_leaves_what_was_before() -> None:
    log = [
        data(0, 7),
        marker(1, 7, ControlType.COMMIT),
        data(2, 7),
        marker(3, 7, ControlType.ABORT),
        data(4, 7),
        marker(5, 7, ControlType.ABORT),
    ]
    assert seen([(7, 4), (7, 2)], *log) == [0]


def test_markers_of_others_end_nothing() -> None:
    log = [data(0, 7), marker(1, 8, ControlType.ABORT), data(2, 7), marker(3, 7, ControlType.ABORT)]
    assert seen([(7, 0)], *log) == []
