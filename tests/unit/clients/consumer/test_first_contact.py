"""A consumer that never reached a broker is told so; one that did, or is only idle, is not."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from tidelog import ConnectionFailed
from tidelog.clients.connection import Connection
from tidelog.clients.consumer.first_contact import FirstContact

LIMIT_S = 30.0


class Polls:
    def __init__(self, answer: int | None) -> None:
        self.time = 0.0
        self.looks = 0
        self.answer = answer
        self.connection = Connection(
            "a:1", find=lambda host, port: None, now=lambda: self.time, start=lambda probe: probe()
        )
        self.contact = FirstContact(self.connection, LIMIT_S, self._look, now=lambda: self.time)

    def _look(self, limit_s: float) -> None:
        self.looks += 1
        if self.answer is not None:
            raise KafkaException(KafkaError(self.answer))

    def go_on_for(self, seconds: int) -> None:
        for _ in range(seconds):
            self.contact.check()
            self.time += 1


def test_without_a_broker_it_is_raised_once_per_limit() -> None:
    polls = Polls(KafkaError._TRANSPORT)
    polls.connection.heard(KafkaError(KafkaError._TRANSPORT, "a:1/bootstrap: Connection refused"))
    for _ in range(2):
        polls.go_on_for(int(LIMIT_S))
        with pytest.raises(ConnectionFailed, match="No broker was reached at a:1 within 30 s") as caught:
            polls.contact.check()
        assert "Connection refused" in caught.value.likely_cause
        assert caught.value.retriable


@pytest.mark.parametrize("answer", [None, KafkaError._TIMED_OUT])
def test_an_idle_consumer_asks_once_and_goes_on(answer: int | None) -> None:
    polls = Polls(answer)
    polls.go_on_for(3 * int(LIMIT_S))
    assert polls.looks == 1
    assert polls.connection.reached


def test_an_outage_after_the_first_contact_is_lived_through() -> None:
    polls = Polls(KafkaError._TRANSPORT)
    polls.connection.reached = True
    polls.connection.heard(KafkaError(KafkaError._ALL_BROKERS_DOWN))
    polls.go_on_for(10 * int(LIMIT_S))
    assert polls.looks == 0
