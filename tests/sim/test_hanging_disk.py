"""A leader whose disk hangs holds up its producers only until others lead."""

import asyncio

import pytest

from tidelog.broker.log_dirs.slow_syncs import SlowSyncs
from tidelog.testing.sim.cluster.scenario import rough
from tidelog.testing.sim.cluster.view import views
from tidelog.testing.sim.faults.machines import DISK_SECONDS
from tidelog.testing.sim.faults.world import World
from tidelog.testing.sim.run import Result, run_seed

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

HANGS_SECONDS = 60.0
LAG_SECONDS = 2.0  # of the simulated brokers


def hang() -> tuple[Result, float | None]:
    """How long it took until another broker led the partition; None: none did."""
    moved_after: float | None = None

    async def script(world: World) -> None:
        nonlocal moved_after
        await asyncio.sleep(3.0)
        views_now = views(world.cluster)
        [leader] = [
            view for view in views_now if any(one.topic == "t" and one.is_leader for one in view.partitions)
        ]
        pace = leader.machine.pace
        pace.seconds = pace.longest_seconds = HANGS_SECONDS
        began = world.now
        while world.now - began < 5 * LAG_SECONDS:
            await asyncio.sleep(0.1)
            led = {
                one.leader_id
                for view in views(world.cluster)
                for one in view.partitions
                if one.topic == "t" and view.machine is not leader.machine
            }
            if leader.machine.id not in led:
                moved_after = world.now - began
                break
        pace.seconds, pace.longest_seconds = DISK_SECONDS, float("inf")
        leader.machine.kill()
        leader.machine.start()

    result = run_seed(4, rough(4, durability="fsync", sends_per_second=20.0), script)
    return result, moved_after


def test_others_lead_soon() -> None:
    result, moved_after = hang()
    assert result.ok, "\n".join([*result.lines[-40:], *result.problems])
    assert moved_after is not None
    assert moved_after < 3 * LAG_SECONDS + 2.0


def test_without_the_watch_nobody_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlowSyncs, "run_once", lambda self: None)
    assert hang()[1] is None
