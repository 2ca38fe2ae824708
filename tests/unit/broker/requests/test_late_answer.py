"""An answer that calls back at once, once, and never after its client has left."""

import asyncio

import pytest

from tests.rigs import virtual_time
from tidelog.broker.requests.answer import LateAnswer


def test_it_calls_back_before_it_is_set() -> None:
    answer = LateAnswer[str]()
    heard: list[object] = []
    answer.add_done_callback(lambda done: heard.append(done.result()))
    assert not answer.done()
    answer.set_result("now")
    assert (heard, answer.done()) == (["now"], True)
    answer.set_result("again")
    assert heard == ["now"]


def test_an_error_is_raised_where_the_result_is_asked_for() -> None:
    answer = LateAnswer[str]()
    answer.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        answer.result()


def test_who_has_left_hears_nothing() -> None:
    heard: list[str] = []
    answer = LateAnswer[str](lambda: heard.append("cancelled"))
    answer.add_done_callback(lambda _: heard.append("done"))
    answer.cancel()
    answer.cancel()
    answer.set_result("late")
    assert (heard, answer.done()) == (["cancelled"], True)


def test_one_that_was_given_is_not_cancelled() -> None:
    heard: list[str] = []
    answer = LateAnswer[str](lambda: heard.append("cancelled"))
    answer.set_result("given")
    answer.cancel()
    assert heard == []


def test_it_can_be_awaited_before_and_after() -> None:
    async def work() -> None:
        answer = LateAnswer[str]()
        asyncio.get_running_loop().call_later(1, answer.set_result, "later")
        assert await answer == "later"
        assert await answer == "later"

    virtual_time.run(work())
