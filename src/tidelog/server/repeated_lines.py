"""Bounds how often the broker's log says the same: lines that a client or a loop can cause again and again.

Two limits, by what is said: a line with the very same text comes a few times and then once a minute, and one
place in the code writes a hundred lines in ten seconds at most, or a thousand where they are errors: each of
these may name another log that lost records. The next line that passes names the number of lines left out.
Lines below INFO are not limited: an operator who asks for them wants all of them.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Hashable

SAME_LINES_MAX, SAME_SECONDS = 3, 60.0
PLACE_LINES_MAX, PLACE_ERRORS_MAX, PLACE_SECONDS = 100, 1_000, 10.0
KEYS_MAX = 2_000


class _Window:
    __slots__ = ("began", "left_out", "written")

    def __init__(self, began: float) -> None:
        self.began = began
        self.written = 0
        self.left_out = 0


class _Limit:
    """So many lines in so many seconds, for each key; forgets the key first that was quiet the longest."""

    def __init__(self, lines_max: int, seconds: float) -> None:
        self._lines_max = lines_max
        self._seconds = seconds
        self._windows: OrderedDict[Hashable, _Window] = OrderedDict()

    def admit(self, key: Hashable, now: float) -> int | None:
        """Returns the number of lines left out since the last one; None if this one is left out too."""
        window = self._windows.get(key)
        left_out = 0
        if window is None or not 0 <= now - window.began < self._seconds:
            left_out = 0 if window is None else window.left_out
            # After a flood only one line of a kind comes in the next window.
            fresh = _Window(now)
            fresh.written = self._lines_max - 1 if left_out else 0
            window = self._windows[key] = fresh
            if len(self._windows) > KEYS_MAX:
                self._windows.popitem(last=False)
        self._windows.move_to_end(key)
        if window.written >= self._lines_max:
            window.left_out += 1
            return None
        window.written += 1
        return left_out


class RepeatedLines(logging.Filter):
    """For a handler, which asks its filters before it takes its lock, on the thread that logs."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._same = _Limit(SAME_LINES_MAX, SAME_SECONDS)
        self._place = _Limit(PLACE_LINES_MAX, PLACE_SECONDS)
        self._errors = _Limit(PLACE_ERRORS_MAX, PLACE_SECONDS)

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.INFO:
            return True
        try:
            text = record.getMessage()
        except Exception:
            return True  # the handler says what is wrong with the line; a filter would fail what is logged
        with self._lock:
            left_out = self._left_out(record, text)
        if left_out:
            record.msg = f"{text} [{left_out} more lines like this one were left out]"
            record.args = ()
        return left_out is not None

    def _left_out(self, record: logging.LogRecord, text: str) -> int | None:
        """The number of lines left out before this one; None if it is left out too."""
        same = self._same.admit((record.name, hash(text)), record.created)  # texts can be long
        if same is None:
            return None
        limit = self._place if record.levelno < logging.ERROR else self._errors
        here = limit.admit((record.pathname, record.lineno), record.created)
        return None if here is None else same + here
