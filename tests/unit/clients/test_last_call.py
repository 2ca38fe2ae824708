"""What becomes of records whose producer nobody closed, when the program ends."""

import logging
from collections.abc import Iterator

import pytest

from tidelog.clients import last_call


class Forgotten:
    def __init__(self, unsettled: int) -> None:
        self.unsettled = unsettled
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
    assert producer.closed_within == last_call.LIMIT_S
    assert "1,200 of its records" in caplog.text
    assert "with Producer" in caplog.text


def test_a_producer_with_nothing_to_send_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    producer = Forgotten(0)
    last_call.OPEN.add(producer)
    last_call.send_what_is_left()
    assert producer.closed_within is None
    assert not caplog.records
