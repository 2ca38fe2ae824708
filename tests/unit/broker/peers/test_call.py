"""A request without a task: it ends once, and says whether its connection may be used again."""

import asyncio

import pytest

from tests.rigs.virtual_time import run
from tidelog.base.errors import ProtocolError
from tidelog.broker.peers.call import PeerCall


class Asked:
    def __init__(self) -> None:
        self.answer: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()
        self.usable: list[bool] = []
        self.woken = 0
        self.call = PeerCall(self.answer, bytes, 5.0, self.usable.append)
        self.call.when_done(self._wake)

    def _wake(self) -> None:
        self.woken += 1


def test_an_answer_is_read_when_it_is_looked_at() -> None:
    async def scenario() -> None:
        asked = Asked()
        assert not asked.call.is_done
        asked.answer.set_result(memoryview(b"answer"))
        await asyncio.sleep(0)
        assert (asked.call.is_done, asked.woken, asked.usable) == (True, 1, [True])
        assert asked.call.result() == b"answer"
        asked.call.give_up()
        await asyncio.sleep(0)
        assert (asked.call.result(), asked.usable) == (b"answer", [True]), "the time limit comes too late"

    run(scenario())


def test_one_that_takes_too_long_gives_its_connection_up() -> None:
    async def scenario() -> None:
        asked = Asked()
        asked.call.give_up()
        await asyncio.sleep(0)
        assert (asked.woken, asked.usable) == (1, [False])
        with pytest.raises(TimeoutError):
            asked.call.result()

    run(scenario())


def test_nonsense_gives_the_connection_up() -> None:
    async def scenario() -> None:
        def read(_: memoryview) -> None:
            raise ProtocolError("what?")

        usable: list[bool] = []
        answer: asyncio.Future[memoryview] = asyncio.get_running_loop().create_future()
        call = PeerCall(answer, read, 5, usable.append)
        answer.set_result(memoryview(b"?"))
        with pytest.raises(ConnectionError):
            call.result()
        assert usable[0] is False

    run(scenario())


def test_a_broken_connection_is_told_to_who_looks() -> None:
    async def scenario() -> None:
        asked = Asked()
        asked.answer.set_exception(ConnectionResetError("gone"))
        await asyncio.sleep(0)
        assert asked.usable == [True], "it is made again when it is used again"
        with pytest.raises(ConnectionResetError):
            asked.call.result()

    run(scenario())


def test_one_that_nobody_wants_any_more_gives_its_connection_up() -> None:
    async def scenario() -> None:
        asked = Asked()
        asked.call.cancel()
        await asyncio.sleep(0)
        assert asked.usable == [False]

    run(scenario())
