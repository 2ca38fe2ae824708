import io
import json
import logging
from collections.abc import Iterator

import pytest

from tidelog.server.logging_setup import set_up_logging


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("tidelog")
    before = list(logger.handlers), logger.level, logger.propagate
    yield logger
    logger.handlers[:], logger.level, logger.propagate = before
    logger.setLevel(before[1])


def test_one_line_an_event_for_people() -> None:
    out = io.StringIO()
    set_up_logging("info", "text", out)
    logging.getLogger("tidelog.server").warning("%s spoke HTTP", "192.0.2.1:5555")
    logging.getLogger("tidelog.server").debug("not shown")
    (line,) = out.getvalue().splitlines()
    assert line.endswith("WARNING server   192.0.2.1:5555 spoke HTTP")
    assert "\x1b" not in line


def test_colour_on_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    set_up_logging(stream=out)
    logging.getLogger("tidelog").error("bad")
    assert "\x1b[31mERROR  \x1b[0m" in out.getvalue()


def test_a_client_cannot_forge_lines() -> None:
    out = io.StringIO()
    set_up_logging(stream=out)
    logging.getLogger("tidelog").info("client id %s", "x\n2026-01-01 INFO all is well\x1b[2J")
    (line,) = out.getvalue().splitlines()
    assert r"x\x0a2026-01-01 INFO all is well\x1b[2J" in line


def test_tracebacks_are_shown() -> None:
    for style in ("text", "json"):
        out = io.StringIO()
        set_up_logging(style=style, stream=out)
        try:
            raise ValueError("broken")
        except ValueError:
            logging.getLogger("tidelog").exception("it failed")
        assert "ValueError: broken" in out.getvalue()


def test_json_lines() -> None:
    out = io.StringIO()
    set_up_logging("debug", "json", out)
    set_up_logging("debug", "json", out)  # a second call does not double the lines
    logging.getLogger("tidelog.storage").debug("rolled\nhere")
    (line,) = out.getvalue().splitlines()
    entry = json.loads(line)
    assert entry["message"] == "rolled\nhere"
    assert (entry["level"], entry["logger"]) == ("debug", "tidelog.storage")
    assert entry["time"].endswith("Z")
