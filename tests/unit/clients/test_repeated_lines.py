"""A broker that cannot be reached fills no screen."""

import logging

from tidelog.clients.repeated_lines import LINES_KEPT, SILENT_S, WithoutRepeats


def line(text: str, at: float) -> logging.LogRecord:
    record = logging.LogRecord("tidelog.clients.librdkafka", logging.WARNING, "", 0, "%s", (text,), None)
    record.created = at
    return record


def refused(took_ms: int, at: float, port: int = 1) -> logging.LogRecord:
    return line(f"localhost:{port}: Connection refused (after {took_ms}ms in state CONNECT)", at)


def test_the_same_again_is_left_out_however_long_it_took() -> None:
    lines = WithoutRepeats()
    assert lines.filter(refused(0, 100.0))
    assert not lines.filter(refused(1, 100.1))
    assert lines.filter(refused(0, 100.2, port=2))


def test_after_a_while_it_is_told_again_with_how_often() -> None:
    lines = WithoutRepeats()
    lines.filter(refused(0, 100.0))
    lines.filter(refused(0, 100.1))
    lines.filter(refused(0, 100.2))
    later = refused(0, 100.0 + SILENT_S)
    assert lines.filter(later)
    assert later.getMessage().endswith("(2 more like this since the last one)")
    assert not lines.filter(refused(0, 100.1 + SILENT_S))


def test_it_does_not_grow_for_ever() -> None:
    lines = WithoutRepeats()
    for port in range(3 * LINES_KEPT):
        assert lines.filter(refused(0, 100.0, port))
    assert len(lines._since) <= LINES_KEPT
