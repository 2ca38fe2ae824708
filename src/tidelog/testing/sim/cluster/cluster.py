"""The simulated cluster: its machines, its clients, and everything that was seen of them."""

import random

from tidelog.base.config.config import load
from tidelog.base.settings.authorization import STANDARD_AUTHORIZER
from tidelog.testing.history import History
from tidelog.testing.sim.clients.client import Address, Client
from tidelog.testing.sim.cluster.machine import Machine
from tidelog.testing.sim.cluster.queue_plan import QueuePlan
from tidelog.testing.sim.cluster.scenario import Scenario
from tidelog.testing.sim.network.network import SimNetwork
from tidelog.testing.sim.runtime.life import Life
from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.testing.sim.runtime.trace import Trace

PORT = 9092

# Shorter than on real machines, so that a few seconds of virtual time hold many elections and rebalances.
SETTINGS = {
    "log.dirs": "/data",
    "auto.create.topics.enable": "false",
    # By the wall clock, which jumps here: a producer must not be forgotten before it has ended.
    "producer.id.expiration.ms": "2000000000",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "group.min.session.timeout.ms": "500",
    "group.initial.rebalance.delay.ms": "100",
    "group.streams.min.session.timeout.ms": "500",
    "group.streams.session.timeout.ms": "2000",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.heartbeat.interval.ms": "300",
    "group.streams.initial.rebalance.delay.ms": "100",
    "group.streams.num.standby.replicas": "1",
    "controller.quorum.election.timeout.ms": "600",
    "controller.quorum.heartbeat.interval.ms": "200",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.wait.max.ms": "500",
    "replica.fetch.backoff.ms": "100",
    "replica.socket.timeout.ms": "2000",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "log.flush.offset.checkpoint.interval.ms": "1500",
    "durability.interval.ms": "500",
    "log.journal.bytes": "131072",
    "log.journal.min.partitions": "1",
    "shutdown.grace.ms": "1000",
    "controlled.shutdown.timeout.ms": "2000",
}


class SimCluster:
    def __init__(self, scenario: Scenario, loop: SimLoop) -> None:
        self.scenario = scenario
        self.loop = loop
        self.trace = Trace()
        self.history = History()
        self.network = SimNetwork(loop, random.Random(f"{scenario.seed} network"), self.trace)
        self._clients = 0
        ids = range(1, scenario.nodes + 1)
        voters = ",".join(f"{id}@n{id}:{PORT}" for id in ids[: scenario.nodes // scenario.cores])
        self.machines = [self._machine(id, voters if scenario.nodes > 1 else "") for id in ids]

    def _machine(self, id: int, voters: str) -> Machine:
        scenario = self.scenario
        flags = {
            **SETTINGS,
            "node.id": str(id),
            "listeners": f"PLAINTEXT://n{id}:{PORT}",
            "cluster.id": "simulated",
            "durability": scenario.durability,
            "log.dirs.min.free.bytes": str(scenario.reserve_bytes),
            "min.insync.replicas": str(scenario.min_insync),
            "log.segment.bytes": str(scenario.segment_bytes),
            "offsets.topic.replication.factor": str(scenario.replicas),
            "transaction.state.log.replication.factor": str(scenario.replicas),
            "transaction.state.log.min.isr": str(scenario.min_insync),
        }
        if scenario.guarded_clients:
            # Whatever no ACL names stays free for all, so that only the guarded topic is guarded.
            flags |= {"authorizer.class.name": STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
        if scenario.queues is not None:
            flags |= _queue_flags(scenario, scenario.queues)
        if scenario.registry is not None:
            # No port is opened where the network is simulated.
            flags |= {
                "schema.registry.port": "8081",
                "schema.registry.topic.replication.factor": str(scenario.replicas),
            }
        if voters:
            flags["controller.quorum.voters"] = voters
        if scenario.cores > 1:
            flags["broker.machine"] = f"m{id % (scenario.nodes // scenario.cores)}"
        return Machine(
            id,
            load(None, {}, flags),
            loop=self.loop,
            network=self.network,
            seed=str(scenario.seed),
            note=self.note,
        )

    def note(self, text: str) -> None:
        self.trace.note(self.loop.now, text)

    def machine(self, id: int) -> Machine:
        return self.machines[id - 1]

    def neighbours(self, machine: Machine) -> list[Machine]:
        """The brokers of one computer, this one among them."""
        computers = self.scenario.nodes // self.scenario.cores
        return [other for other in self.machines if (other.id - machine.id) % computers == 0]

    @property
    def addresses(self) -> list[Address]:
        return [(machine.host, PORT) for machine in self.machines]

    def new_client(self, kind: str) -> tuple[Life, Client]:
        """A client process of its own, on a machine that reaches all brokers unless its paths are blocked."""
        self._clients += 1
        name = f"{kind}{self._clients}"
        life = Life(name, local_start=50_000.0 * self._clients)
        chance = random.Random(f"{self.scenario.seed} client {name}")
        return life, Client(name, self.network.port_of(life, name), self.addresses, chance)


def _queue_flags(scenario: Scenario, plan: QueuePlan) -> dict[str, str]:
    return {
        "default.replication.factor": str(scenario.replicas),
        "group.share.min.session.timeout.ms": "500",
        "group.share.session.timeout.ms": "2000",
        "group.share.min.heartbeat.interval.ms": "100",
        "group.share.heartbeat.interval.ms": "400",
        "group.share.assignment.interval.ms": "100",
        "group.share.initialize.retry.interval.ms": "1000",
        "share.coordinator.state.topic.num.partitions": str(plan.state_partitions),
        "share.coordinator.state.topic.replication.factor": str(scenario.replicas),
        "share.coordinator.state.topic.min.isr": str(scenario.min_insync),
        "share.coordinator.snapshot.update.records.per.snapshot": str(plan.updates_per_snapshot),
        "share.coordinator.write.timeout.ms": "2000",
        "share.coordinator.state.topic.prune.interval.ms": "1000",
        "share.coordinator.cold.partition.snapshot.interval.ms": "2000",
        "errors.deadletterqueue.auto.create.topics.enable": str(plan.dead_letter_topics == "auto").lower(),
    }
