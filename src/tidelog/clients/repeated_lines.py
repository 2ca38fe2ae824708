"""librdkafka tries again several times a second and says so each time; once in half a minute is enough."""

import logging
import re

SILENT_S = 30.0
LINES_KEPT = 1000
_TIMES = re.compile(r"after \d+ms")


class WithoutRepeats(logging.Filter):
    """Lets a line through once in `SILENT_S`, then with the number of those that were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._since: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        line = _TIMES.sub("", said)
        shown_at, left_out = self._since.get(line, (-SILENT_S, 0))
        if record.created - shown_at < SILENT_S:
            self._since[line] = (shown_at, left_out + 1)
            return False
        if len(self._since) >= LINES_KEPT:
            self._since.clear()
        self._since[line] = (record.created, 0)
        if left_out:
            record.msg, record.args = f"{said} ({left_out} more like this since the last one)", ()
        return True
