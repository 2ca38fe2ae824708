"""The schema registry in a run: its clients, the end in which all of it is read, and what the checks say."""

import asyncio
import random
from collections.abc import Iterator

from tidelog.testing.registry_checkers import check_registry
from tidelog.testing.registry_history import OK, RegistryHistory
from tidelog.testing.sim.clients.registry.access import RegistryAccess
from tidelog.testing.sim.clients.registry.client import SimRegistryClient
from tidelog.testing.sim.clients.registry.last_look import LastLook
from tidelog.testing.sim.cluster.cluster import SimCluster
from tidelog.testing.sim.cluster.scenario import RegistryPlan
from tidelog.testing.sim.runtime.life import Life


class RegistryRun:
    def __init__(self, cluster: SimCluster, plan: RegistryPlan) -> None:
        self._cluster = cluster
        self._loop = cluster.loop
        self._plan = plan
        self.history = RegistryHistory()
        self._alive: dict[Life, SimRegistryClient] = {}
        self._gone: list[SimRegistryClient] = []
        self.problems: list[str] = []
        self._own_access = self._access(random.Random(f"{cluster.scenario.seed} registry"))

    @property
    def last_problem(self) -> str:
        return self._own_access.last_problem

    async def prepare(self, seconds: float) -> None:
        """Any schema goes with any other. TimeoutError: the registry does not take that in time."""
        async with asyncio.timeout(seconds):
            outcome = ""
            while outcome != OK:
                await asyncio.sleep(0.1)
                body = {"compatibility": "NONE"}
                outcome = (await self._own_access.call("PUT", "/config", body=body)).outcome

    def start(self) -> None:
        for _ in range(self._plan.clients):
            self._start_client()

    def _start_client(self) -> None:
        life, client = self._cluster.new_client("r")
        access = self._access(client.chance)
        pace = self._plan.calls_per_second
        registrar = SimRegistryClient(self._loop, client, access, self.history, calls_per_second=pace)
        self._alive[life] = registrar
        self._loop.spawn(life, registrar.run(), name=life.name)

    def _access(self, chance: random.Random) -> RegistryAccess:
        return RegistryAccess(self._loop, list(self._cluster.machines), chance)

    def crash_one(self, number: int) -> None:
        """A client dies and hears no answers any more, and another takes its place."""
        life = list(self._alive)[number % len(self._alive)]
        self._gone.append(self._alive.pop(life))
        self._cluster.note(f"{life.name} is killed")
        self._loop.kill(life)
        self._cluster.network.life_died(life, life.name, quietly=False)
        self._start_client()

    async def finish(self, seconds: float) -> None:
        for client in self._alive.values():
            client.is_stopping = True
        while not all(client.has_ended for client in self._alive.values()):  # noqa: ASYNC110
            await asyncio.sleep(0.1)  # a call that is under way ends, or its client gives it up
        life, _ = self._cluster.new_client("registry-end")
        look = LastLook(self._own_access, self.history)
        try:
            async with asyncio.timeout(seconds):
                await self._loop.spawn(life, look.run(), name=life.name)
        except TimeoutError:
            self.problems.append(f"the registry was not read within {seconds:g} s: {self.last_problem}")

    def judge(self) -> Iterator[str]:
        yield from self.problems
        for client in (*self._alive.values(), *self._gone):
            yield from client.complaints
        yield from map(str, check_registry(self.history))
