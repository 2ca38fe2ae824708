"""What a fault has in its hands: the cluster, chance, and time."""

import asyncio
import random
from collections.abc import Callable, Container

from tidelog.metadata.topics.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from tidelog.testing.sim.clients.client import Client
from tidelog.testing.sim.cluster.cluster import SimCluster
from tidelog.testing.sim.cluster.machine import Machine
from tidelog.testing.sim.cluster.view import View, views

SHARE_COORDINATORS = {SHARE_GROUP_STATE, CONSUMER_OFFSETS}


class World:
    def __init__(self, cluster: SimCluster, crash_client: Callable[[int], None]) -> None:
        self.cluster = cluster
        self.chance = random.Random(f"{cluster.scenario.seed} nemesis")
        self.crash_client = crash_client
        self._operator: Client | None = None

    @property
    def now(self) -> float:
        return self.cluster.loop.now

    @property
    def operator(self) -> Client:
        """An operator, whose own machine never fails."""
        if self._operator is None:
            _, self._operator = self.cluster.new_client("operator")
        return self._operator

    def victim(self) -> Machine:
        """Leaders are hit more often: most of what can go wrong begins with the loss of one."""
        leaders = [view.machine for view in views(self.cluster) if _leads(view)]
        if leaders and self.chance.random() < 0.5:
            return self.chance.choice(leaders)
        return self.chance.choice(self.cluster.machines)

    def followed(self, *, by_controller: bool = True) -> tuple[Machine, Machine] | None:
        """The leader of some partition, which may be the controller or not, and one of its followers."""
        led = [
            (view.machine, partition)
            for view in views(self.cluster)
            for partition in view.partitions
            if partition.is_leader
            and len(partition.replicas) > 1
            and (by_controller or not view.is_controller)
        ]
        if not led:
            return None
        leader, partition = self.chance.choice(led)
        follower = self.chance.choice([one for one in partition.replicas if one != leader.id])
        return leader, self.cluster.machine(follower)

    def coordinator(self) -> Machine | None:
        """One of those that see to transactions, or to share groups where there are any."""
        has_queues = self.cluster.scenario.queues is not None
        return self._leader_of(SHARE_COORDINATORS if has_queues else {TRANSACTION_STATE})

    def queue_leader(self) -> Machine | None:
        queues = self.cluster.scenario.queues
        return None if queues is None else self._leader_of(set(queues.topics))

    def _leader_of(self, topics: Container[str]) -> Machine | None:
        leaders = [
            view.machine
            for view in views(self.cluster)
            if any(one.is_leader and one.topic in topics for one in view.partitions)
        ]
        return self.chance.choice(leaders) if leaders else None

    def hosts(self) -> list[str]:
        """In any order, but for the first, which is a likely victim."""
        first = self.victim().host
        hosts = [machine.host for machine in self.cluster.machines if machine.host != first]
        self.chance.shuffle(hosts)
        return [first, *hosts]

    async def some_time(self, longest: float = 3.0) -> None:
        await asyncio.sleep(self.chance.uniform(0.05, longest))


def start(machine: Machine) -> None:
    """Another fault may have been faster."""
    if not machine.is_alive:
        machine.start()


def _leads(view: View) -> bool:
    return view.raft.is_leader or any(partition.is_leader for partition in view.partitions)
