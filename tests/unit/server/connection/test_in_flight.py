import asyncio

import pytest

from tidelog.base.errors import ProtocolError
from tidelog.broker.requests.reply import Reply
from tidelog.server.connection.buffer_pool import POOLED_BYTES, BufferPool
from tidelog.server.connection.in_flight import InFlight


@pytest.fixture
def loop() -> object:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def frame(size: int = 10) -> memoryview:
    return memoryview(bytearray(size))


def test_answers_leave_in_the_order_of_the_requests(loop: asyncio.AbstractEventLoop) -> None:
    in_flight = InFlight(BufferPool(0))
    first, third = loop.create_future(), loop.create_future()
    replies = [Reply([b"1"]), Reply([b"2"]), Reply([b"3"])]
    in_flight.add(first, frame())
    in_flight.add(replies[1], frame())
    in_flight.add(third, frame())
    assert list(in_flight.take_ready()) == []
    third.set_result(replies[2])
    assert list(in_flight.take_ready()) == []
    assert (in_flight.count, in_flight.bytes) == (3, 30)
    first.set_result(replies[0])
    assert list(in_flight.take_ready()) == replies
    assert (in_flight.count, in_flight.bytes) == (0, 0)


def test_a_future_may_owe_no_answer(loop: asyncio.AbstractEventLoop) -> None:
    in_flight = InFlight(BufferPool(0))
    silent = loop.create_future()
    silent.set_result(None)
    last = Reply([b"last"])
    in_flight.add(silent, frame())
    in_flight.add(last, frame())
    assert list(in_flight.take_ready()) == [last]


def test_a_failure_comes_after_the_answers_before_it(loop: asyncio.AbstractEventLoop) -> None:
    in_flight = InFlight(BufferPool(0))
    failed = loop.create_future()
    failed.set_exception(ProtocolError("bad"))
    good = Reply([b"good"])
    in_flight.add(good, frame())
    in_flight.add(failed, frame())
    ready = in_flight.take_ready()
    assert next(ready) is good
    with pytest.raises(ProtocolError):
        next(ready)


def test_large_buffers_go_back_when_their_request_is_complete(loop: asyncio.AbstractEventLoop) -> None:
    pool = BufferPool(10 * POOLED_BYTES)
    in_flight = InFlight(pool)
    later = loop.create_future()
    in_flight.add(later, memoryview(pool.take(POOLED_BYTES)))
    later.set_result(Reply([b"done"]))
    list(in_flight.take_ready())
    assert pool.kept_bytes == POOLED_BYTES


def test_when_the_client_leaves_its_requests_are_cancelled(loop: asyncio.AbstractEventLoop) -> None:
    in_flight = InFlight(BufferPool(0))
    waiting = loop.create_future()
    in_flight.add(waiting, frame())
    in_flight.add(Reply([b"ready"]), frame())
    in_flight.cancel()
    assert waiting.cancelled()
    assert (in_flight.count, in_flight.bytes) == (0, 0)
