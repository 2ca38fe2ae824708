"""One timer for many share partitions: none of them keeps the others waiting."""

import asyncio
from typing import Any

from tests.rigs import virtual_time
from tests.rigs.shares import LoopClock
from tidelog.broker.shares.alarms import ShareAlarms


class Partition:
    """Has so many turns of work from a time on."""

    error = None

    def __init__(self, name: str, alarms: Any, turns: int, ticks: list[str]) -> None:
        self.name, self.turns = name, turns
        self.armed_at = 0.0
        self._alarms, self._ticks = alarms, ticks

    def arm(self, at: float) -> None:
        self.armed_at = at
        self._alarms.set(self, at)

    def tick(self) -> bool:
        self._ticks.append(self.name)
        self.turns -= 1
        if self.turns > 0:
            self.arm(asyncio.get_running_loop().time())
        return self.turns > 0


def test_share_partitions_with_much_to_do_take_turns() -> None:
    async def run() -> None:
        alarms: Any = ShareAlarms(LoopClock())
        ticks: list[str] = []
        for name, turns in (("a", 3), ("b", 2), ("c", 1)):
            Partition(name, alarms, turns, ticks).arm(1.0)
        await asyncio.sleep(1.005)
        assert ticks == ["a"]
        await asyncio.sleep(1)
        assert ticks == ["a", "b", "c", "a", "b", "a"]

    virtual_time.run(run())
