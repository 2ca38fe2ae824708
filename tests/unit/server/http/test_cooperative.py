"""Long work in short turns, by a clock that the test controls."""

import asyncio
from collections.abc import Iterator

from tidelog.server.http.cooperative import Turns


def test_work_is_interrupted_by_time_and_its_time_added_up() -> None:
    now = 0.0
    order: list[str] = []

    def steps() -> Iterator[int]:
        nonlocal now
        for number in range(6):
            order.append(f"step {number}")
            now += 0.4
            yield number

    async def other() -> None:
        order.append("other")

    async def both() -> list[int]:
        turns = Turns(1.0, lambda: now)
        beside = asyncio.ensure_future(other())
        done = await turns.run(steps())
        assert round(turns.busy_seconds, 6) == 2.4
        await beside
        return done

    assert asyncio.run(both()) == [0, 1, 2, 3, 4, 5]
    assert order == ["step 0", "step 1", "step 2", "other", "step 3", "step 4", "step 5"]
