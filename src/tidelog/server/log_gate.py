"""Log lines that any client can cause, at a bounded rate.

Every host that reaches the port can make the broker write a line, so each cause gets a few lines a second
and then one line with the number of those left out.
"""

import logging


class LogGate:
    def __init__(self, logger: logging.Logger, lines_per_second: int = 10) -> None:
        self._logger = logger
        self._lines_max = lines_per_second
        self._window_start: dict[str, float] = {}
        self._written: dict[str, int] = {}
        self._left_out: dict[str, int] = {}

    def write(self, cause: str, now: float, level: int, message: str) -> None:
        start = self._window_start.get(cause)
        if start is None or now - start >= 1.0:
            self._summarise(cause)
            self._window_start[cause] = now
            self._written[cause] = 0
        if self._written[cause] < self._lines_max:
            self._written[cause] += 1
            self._logger.log(level, "%s", message)
        else:
            self._left_out[cause] = self._left_out.get(cause, 0) + 1

    def tick(self, now: float) -> None:
        """Write the summaries whose time has come, also after the flood has ended."""
        for cause, start in list(self._window_start.items()):
            if now - start >= 1.0:
                self._summarise(cause)
                del self._window_start[cause], self._written[cause]

    def _summarise(self, cause: str) -> None:
        count = self._left_out.pop(cause, 0)
        if count:
            self._logger.warning("%d more connections with the same problem (%s)", count, cause)
