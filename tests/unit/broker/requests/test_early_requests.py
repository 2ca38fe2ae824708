import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.rigs.virtual_time import run
from tidelog.base.errors import ProtocolError
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.early_requests import HELD_SECONDS, SERVED_PER_TURN, EarlyRequests
from tidelog.broker.requests.reply import Reply

CONNECTION = ClientConnection("192.0.2.1", 5555, "PLAINTEXT")


def body(number: int) -> memoryview:
    return memoryview(bytearray([number]))


def opened(early: EarlyRequests) -> "asyncio.Future[None]":
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    early.serve(lambda: done.set_result(None))
    return done


def test_they_are_served_in_order_when_the_broker_is_ready() -> None:
    served: list[int] = []

    def dispatch(frame: memoryview, connection: ClientConnection) -> Reply | None:
        assert early.is_serving
        served.append(frame[0])
        return Reply([bytes(frame)]) if frame[0] % 2 else None

    early = EarlyRequests(dispatch)

    async def main() -> None:
        replies = [early.hold(body(number), CONNECTION) for number in range(2 * SERVED_PER_TURN + 1)]
        await asyncio.sleep(HELD_SECONDS - 1)
        assert not served
        ready = opened(early)
        assert len(served) == SERVED_PER_TURN  # the others get their turn first
        late = early.hold(body(99), CONNECTION)
        await ready
        assert not early.is_serving
        assert served == [*range(2 * SERVED_PER_TURN + 1), 99]
        assert [bytes(reply.parts[0]) for each in replies if (reply := each.result())] == [  # type: ignore[arg-type]
            bytes([number]) for number in range(1, 2 * SERVED_PER_TURN, 2)
        ]
        assert late.result() is not None

    run(main())


def test_one_that_waits_too_long_hears_that_it_should_look_elsewhere() -> None:
    early = EarlyRequests(lambda frame, connection: pytest.fail("nobody waits for it any more"))

    async def main() -> None:
        reply = await early.hold(body(1), CONNECTION)
        assert asyncio.get_running_loop().time() == pytest.approx(HELD_SECONDS)
        assert reply is not None
        assert (reply.parts, reply.close) == ([], True)
        await opened(early)

    run(main())


def _raise(error: BaseException) -> Callable[[memoryview, ClientConnection], Any]:
    def dispatch(frame: memoryview, connection: ClientConnection) -> Any:
        raise error

    return dispatch


def test_what_is_wrong_with_a_request_is_told_to_its_connection() -> None:
    early = EarlyRequests(_raise(ProtocolError("nonsense")))

    async def main() -> None:
        reply = early.hold(body(1), CONNECTION)
        await opened(early)
        with pytest.raises(ProtocolError):
            reply.result()

    run(main())


@pytest.mark.parametrize("outcome", ["answer", "error", "client gone"])
def test_an_answer_that_comes_later_still(outcome: str) -> None:
    async def main() -> None:
        pending: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
        early = EarlyRequests(lambda frame, connection: pending)
        reply = early.hold(body(1), CONNECTION)
        await opened(early)
        assert not reply.done()
        if outcome == "answer":
            pending.set_result(Reply([b"late"]))
            assert (await reply) is pending.result()
        elif outcome == "error":
            pending.set_exception(ProtocolError("nonsense"))
            with pytest.raises(ProtocolError):
                await reply
        else:
            reply.cancel()
            await asyncio.sleep(0)
            assert pending.cancelled()

    run(main())


@pytest.mark.parametrize("how", ["its client went", "it waited too long"])
def test_nothing_is_kept_of_a_request_that_nobody_waits_for(how: str) -> None:
    """A start can take minutes, and clients come again and again meanwhile."""
    early = EarlyRequests(lambda frame, connection: None)

    async def main() -> None:
        frame = bytearray(1000)
        gone = early.hold(memoryview(frame), CONNECTION)
        stays = early.hold(body(1), CONNECTION)
        if how == "its client went":
            gone.cancel()
            await asyncio.sleep(0)
        else:
            await asyncio.sleep(HELD_SECONDS)
            stays = early.hold(body(1), CONNECTION)
        frame.pop()  # refused while anybody has a view of it
        await opened(early)
        assert stays.done()

    run(main())
