"""One seed, start to end: a cluster comes up, lives through faults, is healed, and must be whole again."""

import asyncio
import gc
import time
import traceback
from collections.abc import Awaitable, Callable

import msgspec

from tidelog.testing.checkers import check, realtime_lag
from tidelog.testing.history import History, Operation
from tidelog.testing.registry_history import RegistryHistory
from tidelog.testing.share_history import ShareHistory
from tidelog.testing.sim.clients.consumer import SimConsumer
from tidelog.testing.sim.clients.copier import COPY, copies_are_exact
from tidelog.testing.sim.clients.group_ledger import GroupLedger
from tidelog.testing.sim.clients.permissions import GUARDED
from tidelog.testing.sim.cluster.captured_log import captured_log
from tidelog.testing.sim.cluster.cluster import SimCluster
from tidelog.testing.sim.cluster.convergence import why_not_whole
from tidelog.testing.sim.cluster.machine import Machine
from tidelog.testing.sim.cluster.population import Population
from tidelog.testing.sim.cluster.queues import Queues
from tidelog.testing.sim.cluster.registry_run import RegistryRun
from tidelog.testing.sim.cluster.scenario import Scenario, scenario_of
from tidelog.testing.sim.cluster.view import views
from tidelog.testing.sim.faults.nemesis import Nemesis
from tidelog.testing.sim.faults.world import World
from tidelog.testing.sim.rules.invariants import Invariants
from tidelog.testing.sim.rules.metrics import metrics_differ
from tidelog.testing.sim.runtime.loop import SimLoop, Stuck

START_SECONDS = 20.0
HEAL_SECONDS = 30.0
PRODUCERS_END_SECONDS = 1.0
LOOK_SECONDS = 0.05
WORLD_SECONDS_MAX = 200.0

Script = Callable[[World], Awaitable[None]]
"""What happens between the start and the healing, in place of faults by chance."""


class Result(msgspec.Struct):
    scenario: Scenario
    problems: list[str] = []
    trace_hash: str = ""
    virtual_seconds: float = 0.0
    real_seconds: float = 0.0
    steps: int = 0
    faults: int = 0
    operations: int = 0
    records_read: int = 0
    lag_seconds: float = 0.0
    lines: list[str] = []
    history: History = msgspec.field(default_factory=History)
    sends: History = msgspec.field(default_factory=History)
    """To the topics of share groups."""
    shares: ShareHistory = msgspec.field(default_factory=ShareHistory)
    registry: RegistryHistory = msgspec.field(default_factory=RegistryHistory)

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def replay(self) -> str:
        kind = " --queues" if self.scenario.queues is not None else ""
        kind = " --registry" if self.scenario.registry is not None else kind
        kind = " --cores" if self.scenario.cores > 1 else kind
        return f"python -m tidelog.testing.sim{kind} --seeds {self.scenario.seed} --verbose"


def run_seed(seed: int, scenario: Scenario | None = None, script: Script | None = None) -> Result:
    """Whatever happens in the simulated world, this returns; it raises only what ends a Python process."""
    scenario = scenario or scenario_of(seed)
    result = Result(scenario)
    began = time.perf_counter()
    loop = SimLoop()
    cluster = SimCluster(scenario, loop)
    was_enabled = gc.isenabled()
    gc.disable()  # when it runs, a collection ends forgotten tasks at moments that no seed controls
    try:
        with captured_log(cluster, result.problems):
            run = _Run(cluster, result, script)
            loop.on_error = run.on_error
            try:
                loop.run_until_complete(run.whole())
            except Stuck as error:
                result.problems.append(f"stuck: {error}")
            except Exception as error:
                result.problems.append(f"{error!r}\n{traceback.format_exc()}")
            result.problems += loop.errors
            run.judge()
            result.trace_hash = cluster.trace.hash
            result.lines = list(cluster.trace.lines)
            result.virtual_seconds, result.steps = loop.now, loop.steps
            loop.close()
    finally:
        if was_enabled:
            gc.enable()
    result.real_seconds = time.perf_counter() - began
    return result


class _Run:
    def __init__(self, cluster: SimCluster, result: Result, script: Script | None) -> None:
        self._cluster = cluster
        self._loop = cluster.loop
        self._result = result
        self._script = script
        self._invariants = Invariants(cluster)
        self._clients = Population(cluster)
        plan = cluster.scenario.queues
        self._queues = None if plan is None else Queues(cluster, plan)
        registry = cluster.scenario.registry
        self._registry = None if registry is None else RegistryRun(cluster, registry)

    def on_error(self, error: BaseException) -> None:
        self._cluster.trace.lines.extend("".join(traceback.format_exception(error)).splitlines())

    async def whole(self) -> None:
        watching = self._loop.create_task(self._watch(), name="watch")
        phases = self._loop.create_task(self._phases(), name="phases")
        await asyncio.wait([watching, phases], return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            watching.result()  # it never ends but with an error
        await phases

    async def _phases(self) -> None:
        scenario, cluster = self._cluster.scenario, self._cluster
        for machine in cluster.machines:
            machine.start()
        _, admin = cluster.new_client("admin")
        topics = scenario.topics | ({COPY: 1} if scenario.copier else {})
        topics |= {GUARDED: 1} if scenario.guarded_clients else {}
        for name, partitions in topics.items():
            try:
                await admin.create_topic(
                    name, partitions=partitions, replicas=scenario.replicas, configs={}, seconds=START_SECONDS
                )
            except TimeoutError:
                self._result.problems.append(f"no topic within {START_SECONDS:g} s: {admin.last_problem}")
                return
        crowd = self._queues or self._registry
        if crowd is not None and not await self._start_crowd(crowd):
            return
        self._clients.start()
        nemesis = Nemesis(cluster, (crowd or self._clients).crash_one)
        await (nemesis.run() if self._script is None else self._script(nemesis.world))
        self._result.faults = nemesis.count
        await nemesis.heal()
        await self._become_whole()
        await self._finish()

    async def _start_crowd(self, crowd: Queues | RegistryRun) -> bool:
        try:
            await crowd.prepare(START_SECONDS)
        except TimeoutError:
            self._result.problems.append(f"not prepared within {START_SECONDS:g} s: {crowd.last_problem}")
            return False
        crowd.start()
        return True

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._invariants.check()
            if self._queues is not None:
                self._queues.look()
            for machine in self._cluster.machines:
                if machine.failure is not None:
                    self._supervise(machine)
            if self._loop.now > WORLD_SECONDS_MAX:
                raise Stuck(f"the run takes more than {WORLD_SECONDS_MAX:g} s")

    def _supervise(self, machine: Machine) -> None:
        """A broker that says that it cannot go on is ended and started again."""
        problem = f"{machine.host} cannot go on: {machine.failure!r}"
        self._cluster.note(problem)
        if not machine.disk_is_bad:
            self._result.problems.append(problem)
        machine.kill()
        machine.start()

    # After the faults

    async def _become_whole(self) -> None:
        deadline = self._loop.now + HEAL_SECONDS
        while (reason := why_not_whole(self._cluster)) is not None:
            if self._loop.now > deadline:
                self._result.problems.append(f"not whole {HEAL_SECONDS:g} s after all was healed: {reason}")
                return
            await asyncio.sleep(0.1)
        self._cluster.note("whole again")
        self._result.problems += metrics_differ(views(self._cluster))

    async def _finish(self) -> None:
        """Producers end, and every consumer reads to the end."""
        await self._until_all_commit()
        self._clients.stop_writers()
        if self._queues is not None:
            self._queues.stop_writers()
        await asyncio.sleep(PRODUCERS_END_SECONDS)
        life, client = self._cluster.new_client("final")
        final = SimConsumer(
            self._loop,
            client,
            self._cluster.history,
            self._cluster.scenario.topics,
            committed_only=self._cluster.scenario.has_transactions,
        )
        await self._loop.spawn(life, self._read_all(final), name="final")
        self._result.problems += final.complaints
        if self._queues is not None:
            await self._queues.finish(START_SECONDS)
        if self._registry is not None:
            await self._registry.finish(HEAL_SECONDS)
        self._clients.compare(views(self._cluster)[0])
        self._invariants.check()

    async def _until_all_commit(self) -> None:
        """No client may be stuck: in a healed cluster each transactional producer gets one through."""
        before, deadline = self._clients.committed(), self._loop.now + HEAL_SECONDS
        while stuck := [one for one, count in self._clients.committed().items() if count == before[one]]:
            if self._loop.now > deadline:
                self._result.problems.append(f"{stuck} committed nothing within {HEAL_SECONDS:g} s")
                return
            await asyncio.sleep(0.1)

    async def _read_all(self, final: SimConsumer) -> None:
        began = self._loop.now
        try:
            async with asyncio.timeout(HEAL_SECONDS):
                await final.read_to_the_end()
        except TimeoutError:
            self._result.problems.append(f"the last reads did not end within {HEAL_SECONDS:g} s")
            return
        self._cluster.history.add(Operation("final", "final", started=began, ended=self._loop.now))
        if self._cluster.scenario.group_members:
            await self._until_group_is_at(self._clients.ledger, final.positions)
        if self._cluster.scenario.streams_members:
            await self._until_group_is_at(self._clients.streams_ledger, final.positions)
        if self._cluster.scenario.copier:
            await self._until_all_is_copied(final.name)
        self._clients.stop()

    async def _until_group_is_at(self, ledger: GroupLedger, ends: dict[tuple[str, int], int]) -> None:
        """What the group commits must come to the end, too."""
        deadline = self._loop.now + HEAL_SECONDS
        while self._loop.now < deadline:
            behind = [place for place, end in ends.items() if ledger.committed.get(place, 0) < end]
            if not behind:
                return
            await asyncio.sleep(0.2)
        self._result.problems.append(
            f"the group {ledger.group} does not come to the end of {behind} at {ends}"
        )

    async def _until_all_is_copied(self, final: str) -> None:
        history = self._cluster.history
        _, client = self._cluster.new_client("copies")
        reader = SimConsumer(self._loop, client, history, {COPY: 1}, committed_only=True)
        source = history.read_by(final)
        deadline = self._loop.now + HEAL_SECONDS
        while self._loop.now < deadline:
            await reader.read_to_the_end()
            complaints = copies_are_exact(source, history.read_by(client.name))
            if not complaints:
                return
            await asyncio.sleep(0.3)
        self._result.problems += [*complaints[:5], *reader.complaints]

    def judge(self) -> None:
        result = self._result
        for problem, when in self._invariants.broken.items():
            result.problems.append(f"at {when:.2f} s: {problem}")
        result.problems += self._clients.complaints()
        history = self._cluster.history
        result.problems += map(str, check(history))
        if self._queues is not None:
            result.problems += self._queues.judge()
            result.sends, result.shares = self._queues.sends, self._queues.shares
        if self._registry is not None:
            result.problems += self._registry.judge()
            result.registry = self._registry.history
        result.history, result.operations = history, len(history)
        result.records_read = sum(len(operation.read) for operation in history)
        result.lag_seconds = realtime_lag(history)
