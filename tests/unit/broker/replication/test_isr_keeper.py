"""In-sync sets: who is taken out, who comes back, and a controller that does not always answer."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tests.rigs import virtual_time
from tidelog.base.errors import ErrorCode
from tidelog.broker.peers.peers import PeerUnavailable
from tidelog.broker.replication.isr_keeper import IsrKeeper
from tidelog.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
)

Answer = Callable[[AlterPartitionRequest], AlterPartitionResponse]


def agree(request: AlterPartitionRequest) -> AlterPartitionResponse:
    return answer(request, ErrorCode.NONE)


def answer(request: AlterPartitionRequest, code: ErrorCode) -> AlterPartitionResponse:
    return AlterPartitionResponse(
        topics=[
            AlterPartitionResponseTopicData(
                topic_id=topic.topic_id,
                partitions=[
                    AlterPartitionResponsePartitionData(
                        partition_index=one.partition_index,
                        error_code=code,
                        leader_epoch=one.leader_epoch,
                        partition_epoch=one.partition_epoch + (code is ErrorCode.NONE),
                        isr=[member.broker_id for member in one.new_isr_with_epochs],
                    )
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


class Controller:
    node_id = 1

    def __init__(self, rig: Any) -> None:
        self.rig = rig
        self.answer: Answer = agree
        self.requests: list[AlterPartitionRequest] = []

    async def call_controller(self, key: int, version: int, request: Any, **_: Any) -> AlterPartitionResponse:
        self.requests.append(request)
        await asyncio.sleep(0.01)
        answered = self.answer(request)
        for topic in answered.topics:
            for one in topic.partitions:
                if one.error_code == ErrorCode.NONE:
                    asyncio.get_running_loop().call_later(0.01, self._tell, one)
        return answered

    def _tell(self, decided: AlterPartitionResponsePartitionData) -> None:
        """The metadata come a moment after the answer."""
        index = decided.partition_index
        self.rig.images[index] = msgspec.structs.replace(
            self.rig.images[index], isr=tuple(decided.isr), partition_epoch=decided.partition_epoch
        )
        self.rig.tell()


class Keeping:
    def __init__(self, rig: Any) -> None:
        self.rig = rig
        self.controller = Controller(rig)
        self.active = {1: True, 2: True, 3: True}
        self.keeper = IsrKeeper(
            rig[1].hosted,
            self.controller,  # type: ignore[arg-type]
            SimpleNamespace(monotonic=lambda: asyncio.get_running_loop().time()),  # type: ignore[arg-type]
            config=lambda: rig.config,
            image=self._image,  # type: ignore[arg-type]
            broker_epoch=lambda: 101,
        )
        rig[1].fetches._may_join = self.keeper.consider

    def _image(self) -> SimpleNamespace:
        return SimpleNamespace(
            brokers={id: SimpleNamespace(is_active=active) for id, active in self.active.items()}
        )

    def isr(self, index: int = 0) -> list[int]:
        return sorted(self.rig[1][index].isr)


@pytest.fixture
def keeping(make_rig: Callable[..., Any]) -> Callable[[Callable[[Keeping], Awaitable[None]]], None]:
    def run(work: Callable[[Keeping], Awaitable[None]]) -> None:
        async def whole() -> None:
            rig = make_rig(**{"replica.lag.time.max.ms": "10000"})
            kept = Keeping(rig)
            kept.keeper.start()
            try:
                await work(kept)
            finally:
                await kept.keeper.stop()
                await rig.close()

        virtual_time.run(whole())

    return run


Keep = Callable[[Callable[[Keeping], Awaitable[None]]], None]


def test_who_falls_behind_goes_out_in_time_and_comes_back_as_soon_as_it_can(keeping: Keep) -> None:
    async def work(kept: Keeping) -> None:
        rig = kept.rig
        rig.create()
        await asyncio.sleep(30)
        assert kept.isr() == [1, 2, 3], "who has everything stays"
        rig.cut.add((1, 2))
        safe = rig[1].produce(b"x")
        began = asyncio.get_running_loop().time()
        assert await asyncio.wait_for(safe, 16) is None
        assert 9 < asyncio.get_running_loop().time() - began <= 15.1
        assert kept.isr() == [1, 3]
        [request] = kept.controller.requests
        assert [
            (member.broker_id, member.broker_epoch)
            for member in request.topics[0].partitions[0].new_isr_with_epochs
        ] == [(1, 101), (3, 103)]
        rig.cut.clear()
        await asyncio.sleep(0.5)
        assert kept.isr() == [1, 2, 3]
        assert len(kept.controller.requests) == 2

    keeping(work)


def test_a_broker_that_is_fenced_or_leaves_does_not_come_in(keeping: Keep) -> None:
    async def work(kept: Keeping) -> None:
        kept.rig.create()
        kept.active[2] = False
        kept.rig.lead(1, isr=(1, 3))
        await asyncio.sleep(20)
        assert kept.isr() == [1, 3]
        kept.active[2] = True
        await asyncio.sleep(6)
        assert kept.isr() == [1, 2, 3]

    keeping(work)


def test_many_changes_share_a_request(keeping: Keep) -> None:
    async def work(kept: Keeping) -> None:
        kept.rig.create(partitions=20)
        await asyncio.sleep(1)
        kept.rig.cut.add((1, 2))
        for index in range(20):
            kept.rig[1].produce(b"x", index=index)
        await asyncio.sleep(20)
        assert [kept.isr(index) for index in range(20)] == [[1, 3]] * 20
        assert len(kept.controller.requests) == 1

    keeping(work)


def test_without_an_answer_the_same_is_asked_again(keeping: Keep) -> None:
    async def work(kept: Keeping) -> None:
        failures: list[Answer] = []

        def unreachable(_: AlterPartitionRequest) -> AlterPartitionResponse:
            raise PeerUnavailable("no controller")

        def not_controller(request: AlterPartitionRequest) -> AlterPartitionResponse:
            return answer(request, ErrorCode.NOT_CONTROLLER)

        def stale(_: AlterPartitionRequest) -> AlterPartitionResponse:
            return AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)

        failures += [unreachable, stale, not_controller, lambda _: AlterPartitionResponse()]
        kept.controller.answer = lambda request: failures.pop(0)(request) if failures else agree(request)
        kept.rig.create()
        kept.rig.cut.add((1, 2))
        await asyncio.sleep(1)
        kept.rig[1].produce(b"x")
        await asyncio.sleep(20)
        assert kept.isr() == [1, 3]
        assert len(kept.controller.requests) == 5
        sets = {
            tuple(member.broker_id for member in request.topics[0].partitions[0].new_isr_with_epochs)
            for request in kept.controller.requests
        }
        assert sets == {(1, 3)}

    keeping(work)


@pytest.mark.parametrize(
    "code",
    [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.INELIGIBLE_REPLICA],
)
def test_a_refusal_is_not_repeated_in_a_hurry(keeping: Keep, code: ErrorCode) -> None:
    async def work(kept: Keeping) -> None:
        kept.controller.answer = lambda request: answer(request, code)
        kept.rig.create()
        kept.rig.cut.add((1, 2))
        await asyncio.sleep(1)
        kept.rig[1].produce(b"x")
        await asyncio.sleep(30)
        assert kept.isr() == [1, 2, 3]
        assert len(kept.controller.requests) <= 6, "at most one for each look at the clock"

    keeping(work)


def test_acks_wait_for_both_sets_while_a_change_is_under_way(keeping: Keep) -> None:
    async def work(kept: Keeping) -> None:
        rig = kept.rig
        rig.create()
        rig.lead(1, isr=(1, 3))
        decided = asyncio.Event()

        async def slowly(key: int, version: int, request: Any, **_: Any) -> AlterPartitionResponse:
            await decided.wait()
            return agree(request)

        kept.controller.call_controller = slowly  # type: ignore[method-assign]
        await asyncio.sleep(0.5)  # broker 2 has caught up, and its return is proposed
        rig.cut.add((1, 2))
        safe = rig[1].produce(b"x")
        await asyncio.sleep(1)
        assert rig[3].values() == [b"x"]
        assert not safe.done(), "broker 2 may be in the set already, and be elected"
        rig.cut.clear()
        assert await asyncio.wait_for(safe, 1) is None
        decided.set()
        await asyncio.sleep(0.1)
        assert kept.isr() == [1, 2, 3]

    keeping(work)


def test_a_bug_of_the_controller_on_this_broker_is_not_the_end_of_in_sync_sets(keeping: Keep) -> None:
    async def work(kept: Keeping) -> None:
        def broken(request: AlterPartitionRequest) -> AlterPartitionResponse:
            raise ValueError("a bug")

        rig = kept.rig
        rig.create()
        await asyncio.sleep(1)
        kept.controller.answer = broken
        rig.cut.add((1, 2))
        rig[1].produce(b"x")
        await asyncio.sleep(20)
        assert kept.isr() == [1, 2, 3]
        kept.controller.answer = agree
        await asyncio.sleep(5)
        assert kept.isr() == [1, 3]

    keeping(work)
