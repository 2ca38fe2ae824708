"""Every clock jumps forward by a year: retention deletes nothing, and groups keep their offsets."""

import asyncio

import pytest

from tidelog.broker.trusted_clock import TrustedClock
from tidelog.testing.sim.cluster.cluster import SETTINGS
from tidelog.testing.sim.cluster.scenario import rough
from tidelog.testing.sim.faults.world import World
from tidelog.testing.sim.run import Result, run_seed

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

YEAR_MS = 365 * 24 * 3_600_000


@pytest.fixture(autouse=True)
def frequent_retention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETTINGS, "log.retention.check.interval.ms", "500")
    monkeypatch.setitem(SETTINGS, "offsets.retention.check.interval.ms", "500")


async def a_year_ahead(world: World) -> None:
    await asyncio.sleep(4.0)
    for machine in world.cluster.machines:
        machine.jump_clock(YEAR_MS)
    await asyncio.sleep(3.0)
    for machine in world.cluster.machines:
        machine.jump_clock(-YEAR_MS)
    await asyncio.sleep(1.0)


def run() -> Result:
    return run_seed(2, rough(2, segment_bytes=1024, group_members=2, topics={"t": 2}), a_year_ahead)


def test_nothing_is_deleted() -> None:
    result = run()
    assert result.ok, "\n".join([*result.lines[-40:], *result.problems])
    assert any("the clock jumped forward by" in line for line in result.lines)
    assert any("the clock is back" in line for line in result.lines)


def test_a_clock_that_is_believed_deletes_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrustedClock, "now_ms", lambda self: self._clock.now_ms())
    problems = run().problems
    assert any("does not have" in problem for problem in problems), problems
