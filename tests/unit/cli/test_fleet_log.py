"""Lines of several brokers as one log."""

import io

from tidelog.cli.fleet_log import LINE_BYTES_MAX, CombinedLog, Lines


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
