"""When to take messages from librdkafka, and when to let them wait there: pure decisions on a buffer's level.

Messages are taken until the buffer is almost full. Then nothing is taken, but a consumer that does not poll
would lose its partitions: once a second one message is taken into a reserve, and when that is used up,
fetching is held. An application that takes nothing for `patience_s` is stuck, and the group may know.
"""

from enum import Enum
from typing import NamedTuple

KEEP_ALIVE_S = 1.0


class Action(Enum):
    TAKE = "take"
    HOLD = "hold"
    """Pause fetching, and serve what else there is."""
    RELEASE = "release"
    """Fetch again, then take."""
    REST = "rest"


class Step(NamedTuple):
    action: Action
    limit: int = 0


class Backpressure:
    def __init__(self, capacity: int, patience_s: float) -> None:
        self._capacity = capacity
        self._almost_full = capacity - max(1, capacity // 8)
        self._patience_s = patience_s
        self._served_at = 0.0
        self.held = False

    def next_step(self, buffered: int, now: float, taken_at: float) -> Step:
        """`taken_at` is when the application last took something, or came to ask."""
        if self.held and buffered <= self._capacity // 2:
            self.held = False
            self._served_at = now
            return Step(Action.RELEASE, self._almost_full - buffered)
        if not self.held and buffered < self._almost_full:
            self._served_at = now
            return Step(Action.TAKE, self._almost_full - buffered)
        if now - self._served_at < KEEP_ALIVE_S or now - taken_at > self._patience_s:
            return Step(Action.REST)
        self._served_at = now
        if self.held or buffered < self._capacity:
            return Step(Action.TAKE, 1)  # held: nothing comes, but the group is served
        self.held = True
        return Step(Action.HOLD, 1)
