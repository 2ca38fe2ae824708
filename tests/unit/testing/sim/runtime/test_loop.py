"""Lives on virtual time: they die, stop and go on, and nothing else in the world notices by accident."""

import asyncio
from collections.abc import Callable

import pytest

from tidelog.testing.sim.runtime.life import Life
from tidelog.testing.sim.runtime.loop import SimLoop, Stuck


@pytest.fixture
def loop() -> SimLoop:
    return SimLoop()


def run(loop: SimLoop, seconds: float) -> None:
    loop.run_until_complete(asyncio.sleep(seconds))


def ticking(seen: list[float], loop: SimLoop) -> Callable[[], object]:
    async def tick() -> None:
        try:
            while True:
                await asyncio.sleep(1)
                seen.append(loop.now)
        finally:
            seen.append(-1.0)

    return tick


def test_time_jumps_and_timers_keep_their_order(loop: SimLoop) -> None:
    seen: list[str] = []
    loop.call_later(5, seen.append, "later")
    loop.call_later(1, seen.append, "first")
    loop.call_later(1, seen.append, "second")
    run(loop, 10)
    assert seen == ["first", "second", "later"]
    assert loop.now == 10


def test_nothing_of_a_killed_life_runs_again_not_even_finally(loop: SimLoop) -> None:
    seen: list[float] = []
    life = Life("victim")
    task = loop.spawn(life, ticking(seen, loop)())
    loop.call_later(2.5, loop.kill, life)
    run(loop, 10)
    assert seen == [1, 2]
    assert not task.done()
    loop.close()


def test_whoever_waits_for_the_dead_waits_on(loop: SimLoop) -> None:
    life = Life("victim")
    task = loop.spawn(life, asyncio.sleep(2))
    loop.call_later(1, loop.kill, life)

    async def wait() -> str:
        try:
            await asyncio.wait_for(asyncio.shield(task), 5)
        except TimeoutError:
            return "gave up"
        return "answered"

    assert loop.run_until_complete(wait()) == "gave up"
    loop.close()


def test_a_paused_life_goes_on_where_it_was(loop: SimLoop) -> None:
    seen: list[float] = []
    life = Life("sleeper")
    loop.spawn(life, ticking(seen, loop)())
    loop.call_later(1.5, loop.pause, life)
    loop.call_later(4.5, loop.resume, life)
    run(loop, 6)
    assert seen == [1, 4.5, 5.5]
    loop.close()


def test_what_a_life_starts_is_its_own(loop: SimLoop) -> None:
    seen: list[float] = []
    life = Life("parent")

    async def parent() -> None:
        asyncio.get_running_loop().create_task(ticking(seen, loop)())
        await asyncio.sleep(100)

    loop.spawn(life, parent())
    loop.call_later(1.5, loop.kill, life)
    run(loop, 5)
    assert seen == [1]
    loop.close()


def test_a_future_of_another_life_wakes_whoever_waits_in_its_own(loop: SimLoop) -> None:
    waiter, answer = Life("waiter"), loop.create_future()
    seen: list[str] = []

    async def wait() -> None:
        await answer
        seen.append(loop.current_life.name)

    loop.spawn(waiter, wait())
    loop.call_later(1, answer.set_result, None)
    run(loop, 2)
    assert seen == ["waiter"]


def test_a_fast_clock_fires_early_and_never_goes_back(loop: SimLoop) -> None:
    seen: list[tuple[float, float]] = []
    life = Life("hasty", local_start=500.0)

    async def work() -> None:
        for _ in range(3):
            await asyncio.sleep(1)
            seen.append((round(loop.now, 6), round(loop.time(), 6)))

    loop.spawn(life, work())
    loop.call_later(1.0, life.drift, 2.0, 1.0)
    run(loop, 5)
    assert seen == [(1.0, 501.0), (1.5, 502.0), (2.0, 503.0)]


def test_timeouts_work_on_a_clock_of_their_own(loop: SimLoop) -> None:
    async def work() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3):
                await asyncio.sleep(60)
        return loop.now

    task = loop.spawn(Life("someone", local_start=1e6), work())
    assert loop.run_until_complete(task) == pytest.approx(3)


def test_a_world_in_which_nothing_happens_says_so(loop: SimLoop) -> None:
    with pytest.raises(Stuck, match="nothing will ever happen"):
        loop.run_until_complete(loop.create_future())


def test_a_livelock_is_named(loop: SimLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.testing.sim.runtime.loop.STEPS_AT_ONE_INSTANT_MAX", 1000)

    def again_and_again() -> None:
        loop.call_soon(again_and_again)

    loop.call_soon(again_and_again)
    with pytest.raises(Stuck, match="again_and_again of world"):
        run(loop, 1)


def test_an_error_that_nobody_awaits_is_kept(loop: SimLoop) -> None:
    def fail() -> None:
        raise ValueError("unforeseen")

    loop.call_soon(fail)
    run(loop, 1)
    assert len(loop.errors) == 1
    assert "unforeseen" in loop.errors[0]
