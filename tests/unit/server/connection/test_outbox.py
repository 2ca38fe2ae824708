from typing import Any

import pytest

from tests.rigs.connection import Loop
from tidelog.server.connection.outbox import ResponseOutbox


class Sender:
    def __init__(self, log: list[str], name: str, then: Any = None) -> None:
        self._log, self._name, self._then = log, name, then

    def send(self) -> None:
        self._log.append(self._name)
        if self._then is not None:
            self._then()


def test_answers_leave_together_in_the_order_of_their_requests_and_each_sender_sends_once() -> None:
    loop, log = Loop(), list[str]()
    outbox = ResponseOutbox(loop)  # type: ignore[arg-type]
    one, two = Sender(log, "one"), Sender(log, "two")
    for sender in (one, two, one):
        outbox.add(sender)
    assert log == []
    assert loop.turn() == 1
    assert log == ["one", "two"]
    assert loop.turn() == 0


def test_what_is_added_while_others_send_leaves_in_the_next_turn() -> None:
    loop, log = Loop(), list[str]()
    outbox = ResponseOutbox(loop)  # type: ignore[arg-type]
    late = Sender(log, "late")
    outbox.add(Sender(log, "one", then=lambda: outbox.add(late)))
    outbox.add(Sender(log, "two"))
    loop.turn()
    assert log == ["one", "two"]
    loop.turn()
    assert log == ["one", "two", "late"]


def test_one_that_fails_does_not_keep_the_answers_of_the_others(caplog: pytest.LogCaptureFixture) -> None:
    loop, log = Loop(), list[str]()
    outbox = ResponseOutbox(loop)  # type: ignore[arg-type]

    def fail() -> None:
        raise RuntimeError("a fault of ours")

    outbox.add(Sender(log, "one", then=fail))
    outbox.add(Sender(log, "two"))
    loop.turn()
    assert log == ["one", "two"]
    assert "a fault of ours" in caplog.text
