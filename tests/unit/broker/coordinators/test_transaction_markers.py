import asyncio
import logging
from collections.abc import Callable, Coroutine

import pytest

from tests.rigs.transactions.coordinator import A0, A1, B0
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode as E
from tidelog.broker.coordinators.transaction_markers import TransactionMarkers
from tidelog.transactions.marker import Marker, MarkersToWrite
from tidelog.transactions.transaction import Identity, TopicPartition
from tidelog.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

ONE = Marker("one", Identity(1, 4), True, 5, 2)
TWO = Marker("two", Identity(2, 0), False, 5, 0)


class LoopClock:
    def now_ms(self) -> int:
        return int(self.monotonic() * 1000)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class Leaders:
    """Brokers that write markers, or say why not."""

    def __init__(self) -> None:
        self.errors: dict[TopicPartition, E] = {}
        self.down: set[int] = set()
        self.asked: list[tuple[int, list[tuple[int, int, bool, int, int]]]] = []
        self.done: list[tuple[int, Marker]] = []
        self.leaders: dict[TopicPartition, int | None] = {A0: 1, A1: 2, B0: 1}
        self.seconds = 0.01
        self.markers = TransactionMarkers(
            self.answer, lambda one: self.leaders[one], LoopClock(), lambda *done: self.done.append(done)
        )

    async def answer(self, node: int, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        shown = [
            (
                one.producer_id,
                one.producer_epoch,
                one.transaction_result,
                one.coordinator_epoch,
                one.transaction_version,
            )
            for one in request.markers
        ]
        self.asked.append((node, shown))
        await asyncio.sleep(self.seconds)
        if node in self.down:
            raise ConnectionError("gone")
        return WriteTxnMarkersResponse(markers=[self._result(one) for one in request.markers])

    def _result(self, marker: WritableTxnMarker) -> WritableTxnMarkerResult:
        return WritableTxnMarkerResult(
            producer_id=marker.producer_id,
            topics=[
                WritableTxnMarkerTopicResult(
                    name=topic.name,
                    partitions=[
                        WritableTxnMarkerPartitionResult(
                            partition_index=index,
                            error_code=self.errors.get(TopicPartition(topic.name, index), E.NONE),
                        )
                        for index in topic.partition_indexes
                    ],
                )
                for topic in marker.topics
            ],
        )


def _shown(one: WritableTxnMarker) -> tuple[int, int, bool, int, int]:
    return (
        one.producer_id,
        one.producer_epoch,
        one.transaction_result,
        one.coordinator_epoch,
        one.transaction_version,
    )


def on_loop(test: Callable[[Leaders], Coroutine[None, None, None]]) -> None:
    async def main() -> None:
        leaders = Leaders()
        await test(leaders)
        await leaders.markers.close()

    run(main())


def test_every_leader_is_asked_once_for_all_that_came_up_together() -> None:
    async def test(leaders: Leaders) -> None:
        leaders.markers.write(3, [MarkersToWrite(ONE, (A0, A1)), MarkersToWrite(TWO, (B0,))])
        await asyncio.sleep(1)
        assert leaders.asked == [
            (1, [(1, 4, True, 5, 2), (2, 0, False, 5, 0)]),
            (2, [(1, 4, True, 5, 2)]),
        ]
        assert sorted(leaders.done) == [(3, ONE), (3, TWO)]
        assert len(leaders.markers) == 0

    on_loop(test)


def test_a_leader_that_is_down_is_asked_until_it_answers(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tidelog.broker.transactions")

    async def test(leaders: Leaders) -> None:
        leaders.down.add(1)
        leaders.markers.write(3, [MarkersToWrite(ONE, (A0,))])
        await asyncio.sleep(5)
        assert leaders.done == []
        assert len(leaders.asked) > 10
        leaders.down.clear()
        await asyncio.sleep(1)
        assert leaders.done == [(3, ONE)]

    on_loop(test)
    told = [(record.levelname, record.getMessage().split(":")[0]) for record in caplog.records]
    assert told == [
        ("WARNING", "broker 1 does not say whether it wrote the markers of ended transactions"),
        ("INFO", "broker 1 writes markers again"),
    ]


def test_a_partition_that_moves_is_followed() -> None:
    async def test(leaders: Leaders) -> None:
        leaders.errors[A0] = E.NOT_LEADER_OR_FOLLOWER
        leaders.markers.write(3, [MarkersToWrite(ONE, (A0, B0))])
        await asyncio.sleep(0.05)
        leaders.leaders[A0] = 2
        leaders.errors.clear()
        await asyncio.sleep(1)
        assert [node for node, _ in leaders.asked] == [1, 2]
        assert leaders.done == [(3, ONE)]

    on_loop(test)


def test_a_shard_that_moves_away_is_another_brokers() -> None:
    async def test(leaders: Leaders) -> None:
        leaders.errors[A0] = E.NOT_ENOUGH_REPLICAS
        leaders.markers.write(3, [MarkersToWrite(ONE, (A0,))])
        await asyncio.sleep(1)
        leaders.markers.drop_shard(3)
        asked = len(leaders.asked)
        await asyncio.sleep(5)
        assert len(leaders.asked) <= asked + 1
        assert leaders.done == []

    on_loop(test)


def test_closing_ends_what_is_under_way() -> None:
    async def test(leaders: Leaders) -> None:
        leaders.seconds = 1000
        leaders.markers.write(3, [MarkersToWrite(ONE, (A0,))])
        await asyncio.sleep(1)
        await leaders.markers.close()
        assert leaders.done == []
        assert asyncio.get_running_loop().time() < 10

    on_loop(test)
