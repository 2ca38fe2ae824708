"""A forwarded request is carried out once, however often and however late it arrives."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.forwarded_once import KEPT_MAX, ForwardedOnce, ForwardNumbers
from tidelog.wire.messages.forward import ForwardRequest, ForwardResponse

PROCESS, NEXT_PROCESS = bytes([1]) * 16, bytes([2]) * 16


def test_the_floor_is_the_first_request_without_an_answer() -> None:
    numbers = ForwardNumbers()
    assert numbers.floor == 0
    first, second, third = numbers.open(), numbers.open(), numbers.open()
    assert (first, second, third) == (0, 1, 2)
    numbers.close(second)
    assert numbers.floor == first
    numbers.close(first)
    assert numbers.floor == third
    numbers.close(third)
    assert numbers.floor == numbers.open() == 3


class Rig:
    def __init__(self) -> None:
        self.once = ForwardedOnce()
        self.served: list[int] = []
        self.seconds = 0.0
        self.error = ErrorCode.NONE

    async def ask(
        self, number: int, floor: int = 0, *, term: int = 1, broker: int = 2, process: bytes = PROCESS
    ) -> ForwardResponse:
        async def serve() -> ForwardResponse:
            self.served.append(number)
            await asyncio.sleep(self.seconds)
            return ForwardResponse(error_code=self.error, metadata_version=len(self.served))

        request = ForwardRequest(broker_id=broker, incarnation=process, number=number, floor=floor, term=term)
        return await self.once.answer(request, serve)


def with_rig(work: Callable[[Rig], Awaitable[None]]) -> None:
    async def life() -> None:
        await work(Rig())

    run(life())


def test_a_second_try_gets_the_answer_of_the_first() -> None:
    async def work(rig: Rig) -> None:
        first = await rig.ask(0)
        assert await rig.ask(0) == first
        assert await rig.ask(1) != first
        assert rig.served == [0, 1]

    with_rig(work)


def test_a_try_that_is_given_up_ends_nothing() -> None:
    async def work(rig: Rig) -> None:
        rig.seconds = 5.0
        with suppress(TimeoutError):
            await asyncio.wait_for(rig.ask(0), 1)
        assert (await rig.ask(0)).metadata_version == 1
        assert rig.served == [0]

    with_rig(work)


def test_what_its_sender_waits_for_no_longer_is_refused() -> None:
    async def work(rig: Rig) -> None:
        await rig.ask(0)
        await rig.ask(3, floor=2)
        for late in (0, 1):
            assert (await rig.ask(late)).error_code == ErrorCode.REQUEST_TIMED_OUT
        await rig.ask(2, floor=1)
        assert rig.served == [0, 3, 2]

    with_rig(work)


@pytest.mark.parametrize("other", [{"broker": 3}, {"process": NEXT_PROCESS}, {"term": 2}])
def test_numbers_are_those_of_one_process_in_one_term(other: dict[str, int]) -> None:
    async def work(rig: Rig) -> None:
        await rig.ask(7, floor=7)
        await rig.ask(0, **other)  # type: ignore[arg-type]
        assert rig.served == [7, 0]

    with_rig(work)


def test_a_refusal_because_nobody_leads_is_not_kept() -> None:
    async def work(rig: Rig) -> None:
        rig.error = ErrorCode.NOT_CONTROLLER
        assert (await rig.ask(0)).error_code == ErrorCode.NOT_CONTROLLER
        rig.error = ErrorCode.NONE
        assert (await rig.ask(0)).error_code == ErrorCode.NONE
        assert rig.served == [0, 0]

    with_rig(work)


def test_a_broker_that_waits_for_too_much_has_to_wait() -> None:
    async def work(rig: Rig) -> None:
        for number in range(KEPT_MAX):
            await rig.ask(number)
        assert (await rig.ask(KEPT_MAX)).error_code == ErrorCode.NOT_CONTROLLER
        assert (await rig.ask(KEPT_MAX, floor=1)).error_code == ErrorCode.NONE
        assert len(rig.served) == KEPT_MAX + 1

    with_rig(work)
