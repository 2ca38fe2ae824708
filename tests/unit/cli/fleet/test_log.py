"""Lines of several brokers as one log."""

import io
import os
from contextlib import suppress

from tidelog.cli.cores.json_log import JsonLog
from tidelog.cli.fleet.log import LINE_BYTES_MAX, CombinedLog, Lines


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_each_line_has_its_broker_in_front() -> None:
    stream = io.StringIO()
    log = CombinedLog(12, stream)
    log.write(3, "hello")
    log.write(12, "there")
    assert stream.getvalue() == " 3 | hello\n12 | there\n"


def test_colours_on_a_terminal_differ() -> None:
    log = CombinedLog(3, Terminal())
    prefixes = {log.prefix(broker) for broker in (1, 2, 3)}
    assert len(prefixes) == 3
    assert all(prefix.startswith("\x1b[") for prefix in prefixes)


def test_warnings_stand_out_on_a_terminal() -> None:
    stream = Terminal()
    log = CombinedLog(1, stream)
    log.write(1, "2026-01-31 12:00:00.123 WARNING raft     an ERROR is not meant")
    log.write(1, "2026-01-31 12:00:00.123 INFO    raft     all is well")
    first, second = stream.getvalue().splitlines()
    assert "\x1b[33mWARNING\x1b[0m raft     an ERROR is" in first
    assert second.endswith(".123 INFO    raft     all is well")


def test_a_reader_that_is_gone_stops_nothing() -> None:
    """As `| tee` after Ctrl-C: the brokers that the supervisor runs are still to be stopped."""
    reading, writing = os.pipe()
    os.close(reading)
    stream = open(writing, "w")  # noqa: SIM115 - to close it would flush what it holds
    try:
        for log in (CombinedLog(1, stream), JsonLog(1, stream)):
            log.write(1, "x" * 100_000)
    finally:
        os.close(writing)
        with suppress(OSError):
            stream.close()


def test_lines_come_whole() -> None:
    lines = Lines()
    assert lines.feed(b"on") == []
    assert lines.feed(b"e\ntwo\nth") == ["one", "two"]
    assert lines.feed(b"\xff\n") == ["th\N{REPLACEMENT CHARACTER}"]
    assert lines.end() == []
    lines.feed(b"rest")
    assert lines.end() == ["rest"]


def test_a_line_without_end_is_cut() -> None:
    lines = Lines()
    assert lines.feed(b"x" * LINE_BYTES_MAX) == []
    [cut] = lines.feed(b"y")
    assert len(cut) == LINE_BYTES_MAX + 1
