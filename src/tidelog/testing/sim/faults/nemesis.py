"""Makes things go wrong, one after the other and on top of each other, by the seed; then heals all."""

import asyncio
from collections.abc import Callable

from tidelog.testing.sim.cluster.cluster import SimCluster
from tidelog.testing.sim.faults.machines import DISK_SECONDS
from tidelog.testing.sim.faults.registry import ALONE, FAULTS
from tidelog.testing.sim.faults.world import World, start


class Nemesis:
    def __init__(self, cluster: SimCluster, crash_client: Callable[[int], None]) -> None:
        self._cluster = cluster
        self.world = World(cluster, crash_client)
        self._under_way: dict[asyncio.Task[None], None] = {}
        self.count = 0

    async def run(self) -> None:
        scenario, world = self._cluster.scenario, self.world
        if not scenario.faults:
            await asyncio.sleep(scenario.fault_seconds)
        end = world.now + scenario.fault_seconds
        while scenario.faults and world.now < end:
            await asyncio.sleep(scenario.fault_gap_seconds * (0.5 + world.chance.random()))
            kind = world.chance.choice(scenario.faults)
            self.count += 1
            if kind not in ALONE:
                self._begin(kind)
            elif not self._under_way:
                await FAULTS[kind](world)

    def _begin(self, kind: str) -> None:
        task = self._cluster.loop.create_task(self._do(kind), name=kind)
        self._under_way[task] = None
        task.add_done_callback(lambda done: self._under_way.pop(done, None))

    async def _do(self, kind: str) -> None:
        await FAULTS[kind](self.world)

    async def heal(self) -> None:
        """Everything works again; what was down is started."""
        for task in tuple(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        self._cluster.note("all is healed")
        paths = self._cluster.network.paths
        paths.calm()
        paths.mend_all()
        self._cluster.network.lateness.end()
        for machine in self._cluster.machines:
            machine.resume()
            machine.disk.power_cut_at = None
            machine.pace.seconds = DISK_SECONDS
            if machine.life is not None and machine.life.rate != 1.0:
                machine.drift_clock(1.0)
            if machine.disk_is_bad or machine.is_stopping:
                machine.replace_process()
            start(machine)
