"""Trying again, with time that passes only where somebody sleeps."""

import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.attempts import Attempts, Limits
from tidelog.blocking.errors import BrokersUnreachable, Disconnected, GaveUp, NoBroker

LIMITS = Limits(total_s=10, pause_s=0.1, pause_max_s=1)


class Time:
    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def attempts(self) -> Attempts:
        return Attempts("a call", LIMITS, now=lambda: self.now, sleep=self.sleep)


class Failing:
    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    def __call__(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def test_what_passes_is_tried_again() -> None:
    time = Time()
    call = Failing(Disconnected("x"), KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert time.attempts().run(call) == "done"
    assert len(time.pauses) == 2


def test_what_does_not_pass_is_told_at_once() -> None:
    time = Time()
    with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
        time.attempts().run(Failing(KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
    assert time.pauses == []


def test_pauses_grow_to_their_limit() -> None:
    time = Time()
    with pytest.raises(GaveUp, match=r"a call: no success within 10 s; the last attempt: gone"):
        time.attempts().run(Failing(*[Disconnected("gone")] * 99))
    assert max(time.pauses) <= 1.2
    assert time.pauses[0] <= 0.12 < time.pauses[2]
    assert time.now <= 10


def test_brokers_that_cannot_be_reached_are_named() -> None:
    with pytest.raises(BrokersUnreachable, match=r"within 10 s \(a:1: refused\).*bootstrap\.servers"):
        Time().attempts().run(Failing(*[NoBroker([Disconnected("a:1: refused")])] * 99))


def test_a_success_gives_the_whole_time_again() -> None:
    time = Time()
    attempts = time.attempts()
    time.now = 9.5
    assert attempts.left_s == pytest.approx(0.5)
    attempts.begin()
    assert attempts.left_s == 10
