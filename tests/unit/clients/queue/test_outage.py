"""An outage is told once, when it lasts, and so is its end."""

from tidelog.clients.queue.outage import SAID_AFTER_S, Outage

ERROR = OSError("localhost:9092: Connection refused")


def test_an_outage_that_lasts_is_told_once() -> None:
    outage = Outage("workers")
    assert outage.failed(ERROR, 100.0) is None
    assert outage.failed(ERROR, 100.0 + SAID_AFTER_S - 1) is None
    said = outage.failed(ERROR, 100.0 + SAID_AFTER_S)
    assert said is not None
    assert "group workers" in said
    assert "Connection refused" in said
    assert outage.failed(ERROR, 200.0) is None
    assert outage.passed() == "group workers: heartbeats are answered again"


def test_a_short_outage_is_not_told() -> None:
    outage = Outage("workers")
    outage.failed(ERROR, 100.0)
    assert outage.passed() is None
    assert outage.failed(ERROR, 100.0 + SAID_AFTER_S) is None
