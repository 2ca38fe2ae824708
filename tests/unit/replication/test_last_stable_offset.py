"""Up to where every transaction is decided, on every replica that has the decision."""

from typing import Any

import pytest

from tests.rigs.log import NOW_MS
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.wire.record import ControlType, Record, write_batch, write_control_batch

PRODUCER = {"producer_id": 7, "producer_epoch": 0}


def write(trio: Any, sequence: int = 0, **request: Any) -> None:
    batch = write_batch(
        [Record(0, NOW_MS, None, b"v")], base_sequence=sequence, transactional=True, **PRODUCER
    )
    trio[1].produce(memoryview(batch), all_replicas=True, now_ms=NOW_MS, **request)


def write_verified(trio: Any, sequence: int = 0) -> None:
    guard = trio[1].log.producer_state.begin_verification(7, 0, sequence, NOW_MS)
    write(trio, sequence, in_transaction=True, guard=guard)


def mark(trio: Any, kind: ControlType = ControlType.COMMIT) -> None:
    trio[1].append_own(
        write_control_batch(kind, coordinator_epoch=0, timestamp=NOW_MS, **PRODUCER), now_ms=NOW_MS
    )


def replicate(trio: Any) -> None:
    """Every follower has all, the leader knows it, and they know that it knows."""
    for _ in range(3):
        trio.fetch(2)
        trio.fetch(3)


def stable(trio: Any) -> list[int]:
    return [trio[id].last_stable_offset for id in (1, 2, 3)]


def test_it_stops_at_the_oldest_open_transaction(trio: Any) -> None:
    trio.start()
    trio.produce(1)
    write_verified(trio)
    trio.produce(1)
    replicate(trio)
    assert trio[1].high_watermark == 3
    assert stable(trio) == [1, 1, 1]
    mark(trio)
    replicate(trio)
    assert stable(trio) == [4, 4, 4]


def test_a_decision_counts_once_every_in_sync_replica_has_it(trio: Any) -> None:
    trio.start()
    write_verified(trio)
    replicate(trio)
    mark(trio)
    assert trio[1].last_stable_offset == 0, "the marker may be lost with the leader"
    trio.fetch(2)
    trio.fetch(2)
    assert trio[1].last_stable_offset == 0
    replicate(trio)
    assert stable(trio) == [2, 2, 2]


def test_it_never_lies_above_the_high_watermark(trio: Any) -> None:
    trio.start()
    trio.produce(1)
    write_verified(trio)
    assert trio[1].last_stable_offset == trio[1].high_watermark == 0


def test_a_follower_forgets_what_is_stable(trio: Any) -> None:
    trio.start()
    for sequence in range(5):
        write_verified(trio, sequence)
        mark(trio, ControlType.ABORT)
        replicate(trio)
    assert [len(trio[id].log.producers.ended) for id in (1, 2, 3)] == [0, 0, 0]


def test_a_batch_that_nobody_would_end_is_refused(trio: Any) -> None:
    trio.start()
    for request, code in (
        ({}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ({"in_transaction": True}, ErrorCode.INVALID_TXN_STATE),
    ):
        with pytest.raises(KafkaError) as refused:
            write(trio, **request)
        assert refused.value.code is code
    write_verified(trio)
    write(trio, 1, in_transaction=True)


def test_a_retry_is_answered_even_after_its_transaction(trio: Any) -> None:
    trio.start()
    write_verified(trio)
    mark(trio)
    write(trio, 0, in_transaction=True)
    assert trio[1].log.end == 2
