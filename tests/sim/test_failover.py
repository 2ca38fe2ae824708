"""How long clients have to wait when brokers come and go, on virtual time.

The simulated clusters notice a dead broker after two seconds (`broker.session.timeout.ms`).
"""

import asyncio
from itertools import pairwise

import msgspec
import pytest

from tidelog.testing.history import Completion
from tidelog.testing.sim.cluster.convergence import why_not_whole
from tidelog.testing.sim.cluster.machine import Machine
from tidelog.testing.sim.cluster.scenario import Scenario, scenario_of
from tidelog.testing.sim.cluster.view import views
from tidelog.testing.sim.faults.world import World
from tidelog.testing.sim.run import Result, Script, run_seed

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

SESSION_SECONDS = 2.0


def calm(seed: int) -> Scenario:
    return msgspec.structs.replace(
        scenario_of(seed),
        nodes=3,
        replicas=3,
        min_insync=2,
        durability="fsync",
        topics={"t": 1},
        acks=(-1, -1),
        group_members=0,
        topic_churn=False,
        transactors=0,
        copier=False,
        sends_per_second=20.0,
    )


def run(seed: int, script: Script) -> Result:
    result = run_seed(seed, calm(seed), script)
    assert result.ok, "\n".join([*result.lines[-40:], *result.problems])
    return result


def longest_wait(result: Result) -> float:
    """Between two acknowledgements, to whichever producer."""
    times = sorted(
        operation.ended
        for operation in result.history
        if operation.kind == "send" and operation.outcome is Completion.OK
    )
    assert len(times) > 50
    return max(later - earlier for earlier, later in pairwise(times))


def leader_of(world: World, *, of_quorum: bool) -> Machine:
    [found] = [
        view.machine
        for view in views(world.cluster)
        if (view.is_controller if of_quorum else any(p.is_leader and p.topic == "t" for p in view.partitions))
    ]
    return found


@pytest.mark.parametrize("of_quorum", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_leader_dies_and_does_not_come_back(seed: int, of_quorum: bool) -> None:
    async def script(world: World) -> None:
        await asyncio.sleep(2)
        leader_of(world, of_quorum=of_quorum).kill()
        await asyncio.sleep(8)

    assert longest_wait(run(seed, script)) < SESSION_SECONDS + 2.5


@pytest.mark.parametrize("seed", [1, 2])
def test_a_leader_is_isolated(seed: int) -> None:
    async def script(world: World) -> None:
        await asyncio.sleep(2)
        alone = leader_of(world, of_quorum=False).host
        others = [machine.host for machine in world.cluster.machines if machine.host != alone]
        world.cluster.network.paths.block([alone], others)
        world.cluster.network.paths.block(others, [alone])
        await asyncio.sleep(8)

    assert longest_wait(run(seed, script)) < SESSION_SECONDS + 3.5


@pytest.mark.parametrize("seed", [1, 2])
def test_brokers_are_restarted_one_after_the_other(seed: int) -> None:
    async def script(world: World) -> None:
        for machine in world.cluster.machines:
            await asyncio.sleep(1)
            await machine.stop()
            await asyncio.sleep(0.5)
            machine.start()
            async with asyncio.timeout(20):
                while why_not_whole(world.cluster) is not None:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)

    result = run(seed, script)
    assert longest_wait(result) < 1.0
    sends = [operation for operation in result.history if operation.kind == "send"]
    assert [send.error for send in sends if send.outcome is Completion.FAIL] == []


def test_all_brokers_lose_power_at_once() -> None:
    async def script(world: World) -> None:
        await asyncio.sleep(3)
        for machine in world.cluster.machines:
            machine.cut_power()
        await asyncio.sleep(1)
        for machine in world.cluster.machines:
            machine.start()
        await asyncio.sleep(5)

    assert longest_wait(run(3, script)) < 6.0


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("slow", ["the controller", "its followers"])
def test_nobody_seeks_election_while_disks_are_slow(seed: int, slow: str) -> None:
    """They wait for 1 to 2 s before they do, and the disks take longer for a write."""

    async def script(world: World) -> None:
        await asyncio.sleep(2)
        controller = leader_of(world, of_quorum=True)
        terms = {view.raft.term for view in views(world.cluster)}
        for machine in world.cluster.machines:
            if (machine is controller) is (slow == "the controller"):
                machine.pace.seconds, machine.pace.longest_seconds = 4.0, 6.0
        _, admin = world.cluster.new_client("admin of a slow cluster")
        await admin.create_topic("u", partitions=3, replicas=3, configs={}, seconds=60)
        assert {view.raft.term for view in views(world.cluster)} == terms
        assert leader_of(world, of_quorum=True) is controller

    run(seed, script)
