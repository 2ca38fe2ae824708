"""What a simulated life takes for time and for chance."""

import random

from tidelog.base.ids import TimestampMs
from tidelog.base.ports import Clock, Random
from tidelog.testing.sim.runtime.life import Life
from tidelog.testing.sim.runtime.loop import SimLoop

FIRST_MOMENT_MS = 1_700_000_000_000


class SimClock:
    __slots__ = ("_life", "_loop")

    def __init__(self, loop: SimLoop, life: Life) -> None:
        self._loop = loop
        self._life = life

    def now_ms(self) -> TimestampMs:
        return TimestampMs(FIRST_MOMENT_MS + int(self._loop.now * 1000) + self._life.wall_offset_ms)

    def monotonic(self) -> float:
        return self._life.local_time(self._loop.now)


class SimRandom:
    __slots__ = ("_random",)

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)


def _check(clock: SimClock, chance: SimRandom) -> tuple[Clock, Random]:
    return clock, chance  # mypy proves here that they fill the ports
