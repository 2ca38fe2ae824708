import asyncio

import pytest

from tidelog.base.errors import ProtocolError
from tidelog.broker.requests.reply import Reply
from tidelog.server.connection.answers import Answers
from tidelog.server.connection.buffer_pool import POOLED_BYTES, BufferPool


@pytest.fixture
def loop() -> object:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def frame(size: int = 10) -> memoryview:
    return memoryview(bytearray(size))


def test_answers_leave_in_the_order_of_the_requests(loop: asyncio.AbstractEventLoop) -> None:
    answers = Answers(BufferPool(0))
    first, third = loop.create_future(), loop.create_future()
    replies = [Reply([b"1"]), Reply([b"2"]), Reply([b"3"])]
    answers.add(first, frame())
    answers.add(replies[1], frame())
    answers.add(third, frame())
    assert list(answers.take_ready()) == []
    third.set_result(replies[2])
    assert list(answers.take_ready()) == []
    assert (answers.count, answers.bytes) == (3, 30)
    first.set_result(replies[0])
    assert list(answers.take_ready()) == replies
    assert (answers.count, answers.bytes) == (0, 0)


def test_a_future_may_owe_no_answer(loop: asyncio.AbstractEventLoop) -> None:
    answers = Answers(BufferPool(0))
    silent = loop.create_future()
    silent.set_result(None)
    last = Reply([b"last"])
    answers.add(silent, frame())
    answers.add(last, frame())
    assert list(answers.take_ready()) == [last]


def test_a_failure_comes_after_the_answers_before_it(loop: asyncio.AbstractEventLoop) -> None:
    answers = Answers(BufferPool(0))
    failed = loop.create_future()
    failed.set_exception(ProtocolError("bad"))
    good = Reply([b"good"])
    answers.add(good, frame())
    answers.add(failed, frame())
    ready = answers.take_ready()
    assert next(ready) is good
    with pytest.raises(ProtocolError):
        next(ready)


def test_large_buffers_go_back_when_their_request_is_complete(loop: asyncio.AbstractEventLoop) -> None:
    pool = BufferPool(10 * POOLED_BYTES)
    answers = Answers(pool)
    later = loop.create_future()
    answers.add(later, memoryview(pool.take(POOLED_BYTES)))
    later.set_result(Reply([b"done"]))
    list(answers.take_ready())
    assert pool.kept_bytes == POOLED_BYTES


def test_when_the_peer_leaves_its_requests_are_cancelled(loop: asyncio.AbstractEventLoop) -> None:
    answers = Answers(BufferPool(0))
    waiting = loop.create_future()
    answers.add(waiting, frame())
    answers.add(Reply([b"ready"]), frame())
    answers.cancel()
    assert waiting.cancelled()
    assert (answers.count, answers.bytes) == (0, 0)
