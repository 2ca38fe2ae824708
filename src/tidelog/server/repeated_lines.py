"""Bounds how often the broker's log says the same: lines that a client or a loop can cause again and again.

Two limits, by what is said: a line with the very same text comes a few times and then once a minute, and one
place in the code writes a hundred lines in ten seconds at most, or a thousand where they are errors: each of
these may name another log that lost records. The next line that passes names the number of lines left out.
Lines below INFO are not limited: an operator who asks for them wants all of them.
"""

import logging
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
    """For a handler. Lines of any thread pass one after the other, under the handler's lock or before it."""

    def __init__(self) -> None:
        super().__init__()
        self._same = _Limit(SAME_LINES_MAX, SAME_SECONDS)
        self._place = _Limit(PLACE_LINES_MAX, PLACE_SECONDS)
        self._errors = _Limit(PLACE_ERRORS_MAX, PLACE_SECONDS)

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.INFO:
            return True
        text = record.getMessage()
        same = self._same.admit((record.name, text), record.created)
        if same is None:
            return False
        limit = self._place if record.levelno < logging.ERROR else self._errors
        here = limit.admit((record.pathname, record.lineno), record.created)
        if here is None:
            return False
        if same or here:
            record.msg = f"{text} [{same + here} more lines like this one were left out]"
            record.args = ()
        return True
