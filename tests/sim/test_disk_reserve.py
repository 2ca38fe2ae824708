"""Disks that fall below their reserve: clients' records wait, commits go on, and nothing is lost."""

import asyncio

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.broker.log_dirs import log_dirs
from tidelog.replication.partition import Partition
from tidelog.testing.sim.clients.client import Client
from tidelog.testing.sim.cluster.scenario import RESERVE_BYTES, Scenario, rough
from tidelog.testing.sim.cluster.view import views
from tidelog.testing.sim.faults.world import World
from tidelog.testing.sim.run import Result, run_seed
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

GROUP = "watched"


def low(seed: int, *faults: str, **more: object) -> Scenario:
    return rough(seed, "low_disk", *faults, reserve_bytes=RESERVE_BYTES, **more)


def text(result: Result) -> str:
    return "\n".join([*result.lines[-40:], *result.problems])


@pytest.mark.parametrize("seed", [1, 2, 9])
def test_nothing_is_lost_and_every_replica_comes_back(seed: int) -> None:
    more = [{"transactors": 1}, {"group_members": 2}, {"durability": "fsync"}][seed % 3]
    result = run_seed(seed, low(seed, "kill", fault_gap_seconds=2.0, fault_seconds=9.0, **more))
    assert result.ok, text(result)
    assert any("clients' records are refused" in line for line in result.lines)
    assert any("records are accepted again" in line for line in result.lines)


class FullCluster:
    """Every disk is below its reserve for some seconds; a group commits all the while."""

    def __init__(self) -> None:
        self.refused_commits: list[str] = []
        self.commits = self.appended = 0
        self.refused_requests = 0

    async def script(self, world: World) -> None:
        await asyncio.sleep(2.0)
        await self._commit(world.operator, until=world.now + 5.0)
        for machine in world.cluster.machines:
            machine.disk_is_bad = True
            machine.disk.fill_up(RESERVE_BYTES // 2)
        await asyncio.sleep(2.5)
        self.refused_commits.clear()
        ends = self._ends(world)
        for _ in range(20):
            await self._commit(world.operator)
            await asyncio.sleep(0.1)
        self.appended = self._ends(world) - ends
        self.refused_requests = sum(
            log_dir.reserve.refused_requests
            for view in views(world.cluster)
            for log_dir in view.node.services.partitions.log_dirs
        )
        for machine in world.cluster.machines:
            machine.make_room()

    @staticmethod
    def _ends(world: World) -> int:
        return sum(
            one.log.end for view in views(world.cluster) for one in view.partitions if one.topic == "t"
        )

    async def _commit(self, client: Client, until: float | None = None) -> None:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=self.commits)
        topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
        problem = ""
        while True:
            try:
                found = await client.call_any(ApiKey.FIND_COORDINATOR, 3, FindCoordinatorRequest(key=GROUP))
                answer = await client.call(
                    (found.host, found.port),
                    ApiKey.OFFSET_COMMIT,
                    7,
                    OffsetCommitRequest(group_id=GROUP, topics=[topic]),
                    2.0,
                )
                code = answer.topics[0].partitions[0].error_code
                problem = "" if not code else ErrorCode.of(code).name
            except OSError as error:
                problem = repr(error)
            if not problem:
                self.commits += 1
                return
            if until is None or asyncio.get_running_loop().time() > until:
                self.refused_commits.append(problem)
                return
            await client.pause()


def test_commits_go_on_while_every_disk_refuses_records() -> None:
    full = FullCluster()
    result = run_seed(5, low(5), full.script)
    assert result.ok, text(result)
    assert full.refused_requests, "producers were refused"
    assert full.appended == 0
    assert full.refused_commits == []
    assert full.commits >= 20


# The checks can fail.


def test_a_leader_that_takes_records_out_of_the_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "_check_accepts", Partition.check_writable)
    result = run_seed(5, low(5), FullCluster().script)
    assert any("while its log dir refuses them" in problem for problem in result.problems), text(result)


def test_committed_offsets_that_may_not_use_the_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_dirs, "is_internal", lambda topic: False)
    full = FullCluster()
    run_seed(5, low(5), full.script)
    assert full.refused_commits
