"""The logs of several brokers as one: each line with the number of its broker in front, in its own colour."""

import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TextIO

from tidelog.cli.output import coloured

COLOURS = ("36", "33", "35", "32", "34", "31")
# The brokers write to a pipe, so they leave the colours of their levels to us.
LEVELS = {"WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}
_LEVEL = re.compile(rf"(?<=\d\d\d )(?:{'|'.join(LEVELS)})\b")
LINE_BYTES_MAX = 64 * 1024


def unless_unheard() -> suppress:
    """For what is said on stdout and stderr. A supervisor whose terminal was closed, or whose `| tee` ended
    with the same Ctrl-C, still has its brokers to stop."""
    return suppress(OSError)


class CombinedLog:
    def __init__(
        self, brokers: int, stream: TextIO | None = None, numbers: Mapping[int, int] | None = None
    ) -> None:
        """`numbers` are those that lines begin with, where they are not the ids of brokers."""
        self._stream = stream or sys.stderr
        self._width = len(str(brokers))
        self._numbers = numbers or {}
        self._coloured = coloured(self._stream)

    def write(self, broker: int, line: str) -> None:
        if self._coloured:
            line = _LEVEL.sub(lambda found: f"\x1b[{LEVELS[found[0]]}m{found[0]}\x1b[0m", line, count=1)
        self._write(f"{self.prefix(broker)} {line}")

    def _write(self, line: str) -> None:
        with unless_unheard():
            self._stream.write(f"{line}\n")
            self._stream.flush()

    def prefix(self, broker: int) -> str:
        number = self._numbers.get(broker, broker)
        text = f"{number:>{self._width}} |"
        return f"\x1b[{COLOURS[(number - 1) % len(COLOURS)]}m{text}\x1b[0m" if self._coloured else text


class Lines:
    """Whole lines out of the pieces that a pipe gives; truncates a line that does not end."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[str]:
        *whole, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > LINE_BYTES_MAX:
            whole.append(self._rest)
            self._rest = b""
        return [line.decode(errors="replace") for line in whole]

    def end(self) -> list[str]:
        rest, self._rest = self._rest, b""
        return [rest.decode(errors="replace")] if rest else []
