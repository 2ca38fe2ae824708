import asyncio
import logging

import pytest

from tests.rigs.transactions.coordinator import A0, A1, B0
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode as E
from tidelog.broker.coordinators.transaction_verification import TransactionVerification, error_for_writer
from tidelog.transactions.transaction import Identity, TopicPartition
from tidelog.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)

PRODUCER = Identity(7, 1)


class Coordinators:
    def __init__(self) -> None:
        self.errors: dict[TopicPartition, E] = {}
        self.requests: list[tuple[int, list[tuple[str, int, bool, int]]]] = []
        self.is_down = False
        self.of: int | None = 1
        self.verification = TransactionVerification(lambda _: self.of, self.answer)

    async def answer(self, node: int, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        self.requests.append(
            (
                node,
                [
                    (
                        one.transactional_id,
                        one.producer_epoch,
                        one.verify_only,
                        sum(len(topic.partitions) for topic in one.topics),
                    )
                    for one in request.transactions
                ],
            )
        )
        await asyncio.sleep(0.01)
        if self.is_down:
            raise ConnectionError("gone")
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    transactional_id=one.transactional_id,
                    topic_results=[
                        AddPartitionsToTxnTopicResult(
                            name=topic.name,
                            results_by_partition=[
                                AddPartitionsToTxnPartitionResult(
                                    partition_index=index,
                                    partition_error_code=self.errors.get(
                                        TopicPartition(topic.name, index), E.NONE
                                    ),
                                )
                                for index in topic.partitions
                            ],
                        )
                        for topic in one.topics
                    ],
                )
                for one in request.transactions
            ]
        )


def test_each_partition_gets_its_verdict() -> None:
    async def main() -> None:
        world = Coordinators()
        world.errors[A1] = E.TRANSACTION_ABORTABLE
        verdicts = await world.verification.verify("tx", PRODUCER, (A0, A1), add=False)
        assert verdicts == {A0: E.NONE, A1: E.TRANSACTION_ABORTABLE}
        assert world.requests == [(1, [("tx", 1, True, 2)])]

    run(main())


def test_questions_that_come_up_together_share_a_request() -> None:
    async def main() -> None:
        world = Coordinators()
        ask = world.verification.verify
        first = asyncio.ensure_future(ask("tx", PRODUCER, (A0,), add=True))
        await asyncio.sleep(0)
        others = [
            ask("tx", PRODUCER, (A1,), add=True),
            ask("tx", PRODUCER, (B0,), add=True),
            ask("other", Identity(8, 0), (A0,), add=False),
            ask("tx", Identity(7, 2), (B0,), add=True),
        ]
        assert await asyncio.gather(first, *others) == [
            {A0: E.NONE},
            {A1: E.NONE},
            {B0: E.NONE},
            {A0: E.NONE},
            {B0: E.NONE},
        ]
        assert len(world.requests) <= 3
        assert sum(count for _, of in world.requests for *_, count in of) == 5

    run(main())


def test_a_partition_joins_once_the_markers_before_are_written() -> None:
    async def main() -> None:
        world = Coordinators()
        world.errors[A0] = E.CONCURRENT_TRANSACTIONS
        asked = asyncio.ensure_future(world.verification.verify("tx", PRODUCER, (A0,), add=True))
        await asyncio.sleep(0.05)
        world.errors.clear()
        assert await asked == {A0: E.NONE}
        world.errors[A0] = E.CONCURRENT_TRANSACTIONS
        assert await world.verification.verify("tx", PRODUCER, (A0,), add=True) == {
            A0: E.CONCURRENT_TRANSACTIONS
        }
        count = len(world.requests)
        await world.verification.verify("tx", PRODUCER, (A0,), add=False)
        assert len(world.requests) == count + 1, "who only asks is told at once"

    run(main())


def test_no_answer_means_another_try() -> None:
    async def main() -> None:
        world = Coordinators()
        world.is_down = True
        verdicts = await world.verification.verify("tx", PRODUCER, (A0,), add=True)
        assert verdicts == {A0: E.COORDINATOR_NOT_AVAILABLE}
        world.of = None
        verdicts = await world.verification.verify("tx", PRODUCER, (A0,), add=True)
        assert verdicts == {A0: E.COORDINATOR_NOT_AVAILABLE}
        assert len(world.requests) == 1

    run(main())


def test_a_coordinator_that_is_down_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tidelog.broker.transactions")

    async def main() -> None:
        world = Coordinators()
        for is_down in (True, True, True, False, False, True, True):
            world.is_down = is_down
            await world.verification.verify("tx", PRODUCER, (A0,), add=True)

    run(main())
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO", "WARNING"]


def test_turns_are_in_the_order_of_the_calls() -> None:
    async def main() -> None:
        verification = Coordinators().verification
        done: list[int] = []

        async def take(number: int) -> None:
            async with verification.turn(7):
                await asyncio.sleep(1 / (number + 1))
                done.append(number)

        tasks = [asyncio.ensure_future(take(number)) for number in range(3)]
        await asyncio.sleep(0)
        assert verification.has_turn(7)
        assert not verification.has_turn(8)
        await asyncio.gather(*tasks)
        assert done == [0, 1, 2]
        assert not verification.has_turn(7)

    run(main())


def test_closing_leaves_nobody_waiting() -> None:
    async def main() -> None:
        world = Coordinators()
        asked = asyncio.ensure_future(world.verification.verify("tx", PRODUCER, (A0,), add=False))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await world.verification.close()
        assert await asked == {A0: E.COORDINATOR_NOT_AVAILABLE}

    run(main())


@pytest.mark.parametrize(
    ("error", "old", "new"),
    [
        (E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH, E.INVALID_PRODUCER_EPOCH),
        (E.TRANSACTION_ABORTABLE, E.INVALID_TXN_STATE, E.TRANSACTION_ABORTABLE),
        (E.CONCURRENT_TRANSACTIONS, E.NOT_ENOUGH_REPLICAS, E.CONCURRENT_TRANSACTIONS),
        (E.NOT_COORDINATOR, E.NOT_ENOUGH_REPLICAS, E.NOT_ENOUGH_REPLICAS),
        (E.INVALID_PRODUCER_ID_MAPPING, E.INVALID_PRODUCER_ID_MAPPING, E.INVALID_PRODUCER_ID_MAPPING),
    ],
)
def test_clients_hear_what_they_understand(error: E, old: E, new: E) -> None:
    assert error_for_writer(error, knows_abortable=False, adds=False) is old
    assert error_for_writer(error, knows_abortable=True, adds=True) is new
