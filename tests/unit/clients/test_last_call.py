"""What becomes of records whose producer nobody closed, and of acknowledgements, when the program ends."""

import logging
import os
from collections.abc import Iterator

import pytest

from tidelog.clients import last_call
from tidelog.clients.producer.sender import Sender
from tidelog.clients.queue.engine import QueueEngine


class Forgotten:
    words = Sender.words

    def __init__(self, unacknowledged: int) -> None:
        self.unacknowledged = unacknowledged
        self.closed_within: float | None = None

    def close(self, timeout_s: float | None) -> None:
        self.closed_within = timeout_s


@pytest.fixture(autouse=True)
def only_ours() -> Iterator[None]:
    others = list(last_call.OPEN)
    last_call.OPEN.clear()
    yield
    last_call.OPEN.clear()
    last_call.OPEN.update(others)


def test_records_without_an_outcome_are_sent_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    producer = Forgotten(1_200)
    last_call.OPEN.add(producer)
    with caplog.at_level(logging.WARNING):
        last_call.send_what_is_left()
    assert producer.closed_within == pytest.approx(last_call.LIMIT_S, abs=1)
    assert "1,200 of its records" in caplog.text
    assert "with Producer" in caplog.text


def test_acknowledgements_without_an_answer_are_sent_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    queue = Forgotten(3)
    queue.words = QueueEngine.words
    last_call.OPEN.add(queue)
    last_call.send_what_is_left()
    assert queue.closed_within is not None
    assert "a queue was not closed, and 3 of its acknowledgements" in caplog.text
    assert "with Queue" in caplog.text


def test_a_producer_with_nothing_to_send_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    producer = Forgotten(0)
    last_call.OPEN.add(producer)
    last_call.send_what_is_left()
    assert producer.closed_within is None
    assert not caplog.records


def test_all_producers_together_get_the_time_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program with many of them, and no broker, must still come to its end."""
    now = 100.0
    monkeypatch.setattr(last_call, "monotonic", lambda: now)

    class Slow(Forgotten):
        def close(self, timeout_s: float | None) -> None:
            nonlocal now
            super().close(timeout_s)
            now += timeout_s or 0

    producers = [Slow(1) for _ in range(3)]
    last_call.OPEN.update(producers)
    last_call.send_what_is_left()
    assert sorted(each.closed_within or 0 for each in producers) == [0, 0, last_call.LIMIT_S]


def test_one_that_fails_takes_no_other_with_it(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Forgotten):
        def close(self, timeout_s: float | None) -> None:
            super().close(timeout_s)
            raise RuntimeError("the event loop is closed")

    producers = [Broken(1) for _ in range(3)]
    last_call.OPEN.update(producers)
    last_call.send_what_is_left()
    assert all(each.closed_within is not None for each in producers)
    assert "the event loop is closed" in caplog.text


def test_a_forked_child_leaves_the_records_to_its_parent() -> None:
    """It has the parent's producers, without the threads that send: closing them would wait in vain."""
    producer = Forgotten(1)
    last_call.OPEN.add(producer)
    child = os.fork()
    if child == 0:
        os._exit(len(last_call.OPEN))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert producer in last_call.OPEN
