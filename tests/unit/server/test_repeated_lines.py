"""The log says the same thing a few times, and then how often it did not."""

import io
import logging
import random
import sys
import threading

import pytest

from tidelog.server.logging_setup import set_up_logging
from tidelog.server.repeated_lines import (
    KEYS_MAX,
    PLACE_ERRORS_MAX,
    PLACE_LINES_MAX,
    PLACE_SECONDS,
    SAME_LINES_MAX,
    SAME_SECONDS,
    RepeatedLines,
)


def record(text: str, at: float, *, line: int = 1, level: int = logging.WARNING) -> logging.LogRecord:
    made = logging.LogRecord("tidelog.test", level, "file.py", line, "%s", (text,), None)
    made.created = at
    return made


def passed(lines: RepeatedLines, *records: logging.LogRecord) -> list[str]:
    return [one.getMessage() for one in records if lines.filter(one)]


def test_the_same_line_comes_a_few_times_then_once_a_window_with_the_number_left_out() -> None:
    lines = RepeatedLines()
    assert (
        passed(lines, *(record("no room", second / 2) for second in range(20)))
        == ["no room"] * SAME_LINES_MAX
    )
    again = passed(lines, *(record("no room", SAME_SECONDS + second / 2) for second in range(20)))
    assert again == ["no room [17 more lines like this one were left out]"]
    assert passed(lines, record("no room", 2 * SAME_SECONDS)) == [
        "no room [19 more lines like this one were left out]"
    ]
    assert passed(lines, record("no room", 5 * SAME_SECONDS)) == ["no room"]


def test_one_place_in_the_code_has_a_limit_whatever_it_says() -> None:
    lines = RepeatedLines()
    flood = [record(f"client {number}", 0.001 * number) for number in range(PLACE_LINES_MAX + 50)]
    assert len(passed(lines, *flood)) == PLACE_LINES_MAX
    assert passed(lines, record("elsewhere", 1.0, line=2)) == ["elsewhere"]
    assert passed(lines, record("client x", PLACE_SECONDS + 0.1)) == [
        "client x [50 more lines like this one were left out]"
    ]


def test_errors_have_more_room_since_each_may_name_another_loss() -> None:
    errors = [record(f"log {number} is lost", 1.0, level=logging.ERROR) for number in range(5_000)]
    assert len(passed(RepeatedLines(), *errors)) == PLACE_ERRORS_MAX


def test_debug_lines_and_a_clock_that_jumps_back_are_not_held_back() -> None:
    lines = RepeatedLines()
    assert len(passed(lines, *(record("detail", 1.0, level=logging.DEBUG) for _ in range(500)))) == 500
    assert passed(lines, *(record("x", 1000.0) for _ in range(5))) == ["x"] * SAME_LINES_MAX
    assert passed(lines, record("x", 10.0)) == ["x [2 more lines like this one were left out]"]


def test_a_line_that_cannot_be_formatted_does_not_fail_what_logs_it() -> None:
    assert RepeatedLines().filter(logging.LogRecord("tidelog", logging.INFO, "f", 1, "%d", ("x",), None))


def test_lines_of_several_threads() -> None:
    lines = RepeatedLines()
    failures: list[Exception] = []

    def write(seed: int) -> None:
        chosen = random.Random(seed)
        try:
            for _ in range(30_000):
                text = f"line {chosen.randrange(KEYS_MAX + 200)}"
                lines.filter(record(text, 0.0, line=chosen.randrange(3_000)))
        except Exception as error:
            failures.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=write, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert failures == []


def test_memory_is_bounded() -> None:
    lines = RepeatedLines()
    for number in range(2 * KEYS_MAX):
        lines.filter(record(f"line {number}", 100.0 * number))
    assert len(lines._same._windows) <= KEYS_MAX


@pytest.mark.parametrize("style", ["text", "json"])
def test_the_brokers_log_is_limited(style: str) -> None:
    stream = io.StringIO()
    before = logging.getLogger("tidelog").handlers[:], logging.getLogger("tidelog").propagate
    level = logging.getLogger("tidelog").level
    try:
        set_up_logging("info", style, stream)
        for _ in range(50):
            logging.getLogger("tidelog.test").warning("the disk is %s", "full")
    finally:
        logger = logging.getLogger("tidelog")
        logger.handlers[:], logger.propagate = before
        logger.setLevel(level)
    assert stream.getvalue().count("the disk is full") == SAME_LINES_MAX
