"""When a core hangs: its process is there, but its event loop has not turned for a minute.

Counted in looks of the supervisor, not in seconds: while the supervisor stood still itself (a paused
machine), it took no look, and blames no core for that time.
"""

WATCH_S = 10.0
MISSED_MAX = 6


class Stall:
    def __init__(self) -> None:
        self._beats = 0
        self._missed = 0

    def look(self, beats: int) -> bool:
        """Takes the number of beats so far, and says whether the core hangs."""
        self._missed = self._missed + 1 if beats == self._beats else 0
        self._beats = beats
        return self._missed >= MISSED_MAX
