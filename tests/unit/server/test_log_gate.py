import logging

import pytest

from tidelog.server.log_gate import LogGate


def test_each_cause_gets_a_few_lines_and_then_a_count(caplog: pytest.LogCaptureFixture) -> None:
    gate = LogGate(logging.getLogger("tidelog.test"), lines_per_second=2)
    for number in range(5):
        gate.write("http", 0.1, logging.WARNING, f"http {number}")
    gate.write("tls", 0.1, logging.WARNING, "tls 0")
    assert caplog.messages == ["http 0", "http 1", "tls 0"]
    gate.write("http", 1.2, logging.WARNING, "http 5")
    assert caplog.messages[3:] == ["3 more connections with the same problem (http)", "http 5"]


def test_the_count_comes_also_when_the_flood_has_ended(caplog: pytest.LogCaptureFixture) -> None:
    gate = LogGate(logging.getLogger("tidelog.test"), lines_per_second=1)
    for _ in range(3):
        gate.write("http", 0.0, logging.WARNING, "http")
    gate.tick(0.5)
    assert len(caplog.messages) == 1
    gate.tick(1.0)
    gate.tick(2.0)
    assert caplog.messages == ["http", "2 more connections with the same problem (http)"]
