"""What happened in a run, as one number: two runs of one seed must give the same."""

import zlib
from collections import deque

KEPT_LINES = 4_000


class Trace:
    def __init__(self) -> None:
        self._digest = 0
        self.events = 0
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        """The latest events in words, for the reader of a failure."""

    @property
    def hash(self) -> str:
        return f"{self._digest:08x}"

    def note(self, now: float, text: str) -> None:
        line = f"{now:9.4f} {text}"
        self._digest = zlib.crc32(line.encode(), self._digest)
        self.events += 1
        self.lines.append(line)

    def frame(self, now: float, source: str, target: str, frame: bytes | bytearray) -> None:
        """A frame that arrived; not kept in words, since there are too many."""
        head = f"{now:.6f}{source}>{target}"
        self._digest = zlib.crc32(frame, zlib.crc32(head.encode(), self._digest))
        self.events += 1
