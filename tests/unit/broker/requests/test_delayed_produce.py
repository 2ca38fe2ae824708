import asyncio
from collections.abc import Callable

import pytest

from tests.rigs.garbage import nothing_left_of
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.delayed_produce import DelayedProduce, UncommittedAppend
from tidelog.wire.messages.produce import PartitionProduceResponse, ProduceResponse

Done = Callable[[KafkaError | None], None]


class Target:
    """The part of a partition that a waiting produce uses."""

    def __init__(self) -> None:
        self.waiting: list[Done] = []

    def when_committed(self, offset: int, done: Done) -> bool:
        self.waiting.append(done)
        return False

    def forget(self, done: Done) -> None:
        self.waiting.remove(done)


def uncommitted(target: Target, offset: int = 1) -> UncommittedAppend:
    return UncommittedAppend(target, offset, PartitionProduceResponse(base_offset=offset))  # type: ignore[arg-type]


def test_it_waits_for_every_partition() -> None:
    async def main() -> None:
        first, second = Target(), Target()
        response = ProduceResponse()
        delayed = DelayedProduce(response, [uncommitted(first), uncommitted(second)], 30_000)
        first.waiting[0](None)
        assert not delayed.future.done()
        second.waiting[0](None)
        assert await delayed.future is response

    run(main())


def test_time_that_runs_out_is_told_for_the_partitions_that_are_not_safe() -> None:
    async def main() -> None:
        first, second = Target(), Target()
        safe, unsafe = uncommitted(first), uncommitted(second)
        delayed = DelayedProduce(ProduceResponse(), [safe, unsafe], 1500)
        first.waiting[0](None)
        await delayed.future
        assert asyncio.get_running_loop().time() == pytest.approx(1.5)
        assert safe.answer.error_code == ErrorCode.NONE
        assert unsafe.answer.error_code == ErrorCode.REQUEST_TIMED_OUT
        await asyncio.sleep(0)
        assert second.waiting == []

    run(main())


def test_a_partition_that_goes_offline_fails_alone() -> None:
    async def main() -> None:
        first, second = Target(), Target()
        fine, broken = uncommitted(first), uncommitted(second)
        delayed = DelayedProduce(ProduceResponse(), [fine, broken], 1500)
        second.waiting[0](KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "no room"))
        first.waiting[0](None)
        await delayed.future
        assert fine.answer.error_code == ErrorCode.NONE
        assert (broken.answer.error_code, broken.answer.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
        assert broken.answer.error_message == "no room"

    run(main())


def test_a_peer_that_left_leaves_nothing_behind() -> None:
    async def main() -> None:
        target = Target()
        delayed = DelayedProduce(ProduceResponse(), [uncommitted(target)], 1500)
        delayed.future.cancel()
        await asyncio.sleep(0)
        assert target.waiting == []

    run(main())


def test_a_wait_that_is_over_leaves_nothing_to_the_garbage_collector() -> None:
    async def main() -> None:
        first, second = Target(), Target()
        waits = [uncommitted(first), uncommitted(second)]
        with nothing_left_of(DelayedProduce):
            future = DelayedProduce(ProduceResponse(), waits, 1500).future
            first.waiting.pop()(None)
            second.waiting.pop()(None)
            await future
            await asyncio.sleep(0)

    run(main())
