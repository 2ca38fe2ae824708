"""Makes things go wrong, one after the other and on top of each other, by the seed; then heals all."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from tidelog.testing.sim.cluster import SimCluster
from tidelog.testing.sim.machine import Machine
from tidelog.testing.sim.paths import Path
from tidelog.testing.sim.view import View, views

SLOW_DISK_SECONDS = 0.1
DISK_SECONDS = 0.002


class Nemesis:
    def __init__(self, cluster: SimCluster, crash_client: Callable[[int], None]) -> None:
        self._cluster = cluster
        self._loop = cluster.loop
        self._chance = random.Random(f"{cluster.scenario.seed} nemesis")
        self._crash_client = crash_client
        self._under_way: dict[asyncio.Task[None], None] = {}
        self.count = 0

    async def run(self) -> None:
        scenario = self._cluster.scenario
        end = self._loop.now + scenario.fault_seconds
        while scenario.faults and self._loop.now < end:
            await asyncio.sleep(scenario.fault_gap_seconds * (0.5 + self._chance.random()))
            kind = self._chance.choice(scenario.faults)
            fault: Callable[[], Awaitable[None]] = getattr(self, f"_{kind}")
            self.count += 1
            task = self._loop.create_task(self._do(fault), name=kind)
            self._under_way[task] = None
            task.add_done_callback(lambda done: self._under_way.pop(done, None))
        if not scenario.faults:
            await asyncio.sleep(scenario.fault_seconds)

    async def _do(self, fault: Callable[[], Awaitable[None]]) -> None:
        await fault()

    async def heal(self) -> None:
        """Everything works again; what was down is started."""
        for task in tuple(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        self._cluster.note("all is healed")
        paths = self._cluster.network.paths
        paths.calm()
        paths.mend_all()
        for machine in self._cluster.machines:
            machine.resume()
            machine.disk.heal()
            machine.disk.power_cut_at = None
            machine.pace.seconds = DISK_SECONDS
            if machine.life is not None and machine.life.rate != 1.0:
                machine.drift_clock(1.0)
            if machine.is_stopping:
                machine.kill()
            self._start(machine)

    # Chance

    def _any(self) -> Machine:
        """Leaders are hit more often: most of what can go wrong begins with the loss of one."""
        leaders = [view.machine for view in views(self._cluster) if _leads(view)]
        if leaders and self._chance.random() < 0.5:
            return self._chance.choice(leaders)
        return self._chance.choice(self._cluster.machines)

    async def _some_time(self, longest: float = 3.0) -> None:
        await asyncio.sleep(self._chance.uniform(0.05, longest))

    def _start(self, machine: Machine) -> None:
        if not machine.is_alive:
            machine.start()

    # Processes

    async def _kill(self) -> None:
        machine = self._any()
        machine.kill()
        await self._some_time()
        self._start(machine)

    async def _kill_most(self) -> None:
        machines = self._cluster.machines
        victims = self._chance.sample(machines, self._chance.randint((len(machines) + 1) // 2, len(machines)))
        for machine in victims:
            machine.kill()
        for machine in victims:
            await self._some_time(1.0)
            self._start(machine)

    async def _power(self) -> None:
        machine = self._any()
        if self._chance.random() < 0.5:
            machine.cut_power()
        else:
            machine.disk.cut_power_soon(self._chance.randint(1, 30))
        await self._some_time()
        self._start(machine)

    async def _restart(self) -> None:
        machine = self._any()
        if not machine.serves or machine.is_paused:
            return
        try:
            async with asyncio.timeout(8.0):
                await machine.stop()
        except TimeoutError:
            machine.kill()  # as a supervisor does
        await self._some_time(1.0)
        self._start(machine)

    async def _pause(self) -> None:
        machine = self._any()
        machine.pause()
        await self._some_time(4.0)
        machine.resume()

    async def _client_crash(self) -> None:
        self._crash_client(self._chance.randrange(100))

    # The network

    def _hosts(self) -> list[str]:
        """In any order, but for the first, which is a likely victim."""
        first = self._any().host
        hosts = [machine.host for machine in self._cluster.machines if machine.host != first]
        self._chance.shuffle(hosts)
        return [first, *hosts]

    async def _cut(self, what: str, *cuts: tuple[list[str], list[str]]) -> None:
        """For a while."""
        paths: list[Path] = []
        for sources, targets in cuts:
            self._cluster.note(f"{what}: {','.join(sources)} to {','.join(targets)} is cut")
            paths += self._cluster.network.paths.cut(sources, targets)
        await self._some_time(5.0)
        self._cluster.note(f"{what} is mended")
        self._cluster.network.paths.mend(paths)

    async def _isolate(self) -> None:
        alone, *others = self._hosts()
        await self._cut("isolate", ([alone], others), (others, [alone]))

    async def _halves(self) -> None:
        hosts = self._hosts()
        middle = self._chance.randint(1, len(hosts) - 1)
        await self._cut("halves", (hosts[:middle], hosts[middle:]), (hosts[middle:], hosts[:middle]))

    async def _one_way(self) -> None:
        hosts = self._hosts()
        middle = self._chance.randint(1, len(hosts) - 1)
        ways = (hosts[:middle], hosts[middle:]), (hosts[middle:], hosts[:middle])
        await self._cut("one way", self._chance.choice(ways))

    async def _ring(self) -> None:
        """Each reaches its neighbours only: everybody has a majority, and no two have the same."""
        hosts = self._hosts()
        count = len(hosts)
        apart = [
            ([one], [other])
            for here, one in enumerate(hosts)
            for there, other in enumerate(hosts)
            if (there - here) % count not in {0, 1, count - 1} or (count == 3 and 2 not in {here, there})
        ]
        await self._cut("ring", *apart)

    async def _clog(self) -> None:
        source, target = self._hosts()[:2] if len(self._cluster.machines) > 1 else ("n1", "n1")
        until = self._loop.now + self._chance.uniform(0.2, 3.0)
        self._cluster.note(f"{source} to {target} is clogged")
        self._cluster.network.paths.clog(source, target, until)

    async def _loss(self) -> None:
        paths = self._cluster.network.paths
        paths.loss_rate = self._chance.choice((0.002, 0.02))
        paths.repeat_rate = self._chance.choice((0.0, 0.1, 0.5))
        paths.stray_rate = self._chance.choice((0.0, 0.1, 0.3))
        self._cluster.note("frames get lost")
        await self._some_time(4.0)
        paths.calm()

    async def _slow_network(self) -> None:
        paths = self._cluster.network.paths
        paths.slow_rate = self._chance.choice((0.02, 0.2))
        self._cluster.note("the network is slow")
        await self._some_time(4.0)
        paths.slow_rate = 0.0

    # Disks and clocks

    async def _slow_disk(self) -> None:
        machine = self._any()
        self._cluster.note(f"the disk of {machine.host} is slow")
        machine.pace.seconds = SLOW_DISK_SECONDS
        await self._some_time(4.0)
        machine.pace.seconds = DISK_SECONDS

    async def _clock_jump(self) -> None:
        self._any().jump_clock(self._chance.choice((-1, 1)) * self._chance.choice((50, 5_000, 86_400_000)))

    async def _clock_drift(self) -> None:
        machine = self._any()
        machine.drift_clock(self._chance.choice((0.8, 0.95, 1.05, 1.25)))
        await self._some_time(4.0)
        machine.drift_clock(1.0)


def _leads(view: View) -> bool:
    return view.raft.is_leader or any(partition.is_leader for partition in view.partitions)
