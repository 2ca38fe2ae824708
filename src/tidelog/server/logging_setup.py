"""The broker's own log: one line an event, for people (with colour on a terminal) or as JSON.

Control characters are escaped, so that a client id or host name cannot forge lines.
"""

import json
import logging
import re
import sys
import time
from typing import TextIO

from tidelog.server.repeated_lines import RepeatedLines

_COLOURS = {"DEBUG": "2", "INFO": "32", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
LOGGER = "tidelog"


def set_up_logging(level: str = "info", style: str = "text", stream: TextIO | None = None) -> None:
    """Write the logs of `tidelog.*` to `stream` (standard error); a second call replaces the first."""
    target = stream or sys.stderr
    handler = logging.StreamHandler(target)
    handler.addFilter(RepeatedLines())
    handler.setFormatter(JsonLines() if style == "json" else TextLines(colour=target.isatty()))
    logger = logging.getLogger(LOGGER)
    for old in list(logger.handlers):
        logger.removeHandler(old)
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False


class TextLines(logging.Formatter):
    """`2026-01-31 12:00:00.123 WARNING server   192.0.2.1:5555 spoke HTTP`; tracebacks follow indented."""

    def __init__(self, *, colour: bool) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
        level = f"{record.levelname:7}"
        if self._colour:
            level = f"\x1b[{_COLOURS.get(record.levelname, '0')}m{level}\x1b[0m"
        room = record.name.removeprefix(f"{LOGGER}.")
        line = f"{moment}.{int(record.msecs):03} {level} {room:8} {_one_line(record.getMessage())}"
        if record.exc_info:
            trace = self.formatException(record.exc_info)
            line += "".join(f"\n    {_one_line(part)}" for part in trace.splitlines())
        return line


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        entry: dict[str, object] = {
            "time": f"{moment}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def _one_line(text: str) -> str:
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
