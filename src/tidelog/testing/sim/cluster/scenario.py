"""From a seed to a plan: how large the cluster is, what clients do, and what goes wrong."""

import random
from collections.abc import Mapping

import msgspec

from tidelog.metadata.topics.names import SCHEMAS, SHARE_GROUP_STATE
from tidelog.testing.share_history import ShareGroupPlan
from tidelog.testing.sim.cluster.queue_plan import QueuePlan, queue_plan_of

RESERVE_BYTES = 200_000
SEGMENT_BYTES_MIN = 4096
"""Of queues: their largest batch fits."""

_FIRST_FAULTS = (
    *("kill", "kill_most", "power", "restart", "pause", "client_crash"),
    *("isolate", "halves", "one_way", "ring", "clog", "loss", "slow_network"),
    *("slow_disk", "full_disk", "failing_disk", "lost_disk", "clock_jump", "clock_drift"),
    *("reassign", "elect", "voters"),
)
_MORE_FAULTS = (
    *("old_coordinator", "deposed", "late", "far", "flap", "ghost"),
    *("leader_change", "left_behind", "catching_up", "flipped_bit"),
)
"""Drawn apart from the first ones, so that the plans of seeds that are kept in tests stay as they are."""

_WITH_RESERVE = "low_disk"
"""Drawn apart from both, and only for clusters with a reserve of disk space."""

_QUEUE_FAULTS = ("late_saves", "drain", "kill_letters")
"""Only for clusters with share groups."""

_CORE_FAULTS = ("kill_neighbours", "power_of_neighbours")
"""Only for clusters with several brokers on each machine."""

FAULT_NAMES = (*_FIRST_FAULTS, *_MORE_FAULTS, _WITH_RESERVE, *_QUEUE_FAULTS, *_CORE_FAULTS)
"""As in `faults.registry`, which a plan does not need."""

WITH_OTHERS = {"isolate", "halves", "one_way", "ring", "lost_disk", "reassign", "elect", "voters"}
"""What needs more than one broker; all of those that came later do."""


class RegistryPlan(msgspec.Struct, frozen=True):
    clients: int = 3
    calls_per_second: float = 8.0

    def describe(self) -> str:
        return f"schema registry with {self.clients} clients"


class Scenario(msgspec.Struct, frozen=True):
    seed: int
    nodes: int
    replicas: int
    min_insync: int
    durability: str
    topics: dict[str, int]
    """Name and number of partitions."""
    acks: tuple[int, ...]
    """One producer each."""
    consumers: int
    group_members: int
    topic_churn: bool
    transactors: int
    copier: bool
    faults: tuple[str, ...]
    fault_gap_seconds: float
    fault_seconds: float
    """How long the time of faults is."""
    sends_per_second: float
    segment_bytes: int
    streams_members: int = 0
    guarded_clients: int = 0
    """Clients whose permissions come and go."""
    reserve_bytes: int = 0
    """Of disk space: `log.dirs.min.free.bytes`."""
    queues: QueuePlan | None = None
    """Share groups, and the topics that they alone read."""
    registry: RegistryPlan | None = None
    """Clients of the schema registry."""
    cores: int = 1
    """Brokers that share a computer, and fail together; the first of them votes."""

    @property
    def has_transactions(self) -> bool:
        return self.transactors > 0 or self.copier

    @property
    def movable(self) -> dict[str, int]:
        """The topics whose replicas and leaders operators move."""
        if self.registry is not None:
            return {SCHEMAS: 1}
        if self.queues is None:
            return self.topics
        return {**self.queues.topics, SHARE_GROUP_STATE: self.queues.state_partitions}

    def describe(self) -> str:
        topics = ", ".join(f"{name}({count})" for name, count in self.topics.items())
        extras = f", {self.group_members} group members" if self.group_members else ""
        extras += f", {self.streams_members} streams members" if self.streams_members else ""
        extras += f", {self.transactors} transactional producers" if self.transactors else ""
        extras += ", copier" if self.copier else ""
        extras += f", {self.guarded_clients} guarded clients" if self.guarded_clients else ""
        extras += ", topic churn" if self.topic_churn else ""
        extras += ", disk reserve" if self.reserve_bytes else ""
        extras += f", {self.queues.describe()}" if self.queues is not None else ""
        extras += f", {self.registry.describe()}" if self.registry is not None else ""
        extras += f", {self.cores} cores" if self.cores > 1 else ""
        return (
            f"{self.nodes} nodes, {self.replicas} replicas (min {self.min_insync}), {self.durability}, "
            f"topics {topics}, acks {','.join(map(str, self.acks))}{extras}, "
            f"faults {' '.join(self.faults) or 'none'}"
        )


def scenario_of(seed: int) -> Scenario:
    chance = random.Random(f"scenario {seed}")
    nodes = chance.choices((1, 3, 5), (12, 78, 10))[0]
    replicas = min(3, nodes)
    durability = chance.choice(("fsync", "fsync", "os", "interval"))
    faults = [fault for fault in _FIRST_FAULTS if _fits(fault, nodes, durability)]
    is_mayhem = chance.random() < 0.08
    chosen = faults if is_mayhem else chance.sample(faults, chance.randint(1, min(5, len(faults))))
    scenario = Scenario(
        seed=seed,
        nodes=nodes,
        replicas=replicas,
        min_insync=chance.choice((1, 2, 2)) if replicas > 1 else 1,
        durability=durability,
        topics={"t": chance.choice((1, 1, 2, 3))},
        acks=(-1, *chance.choices((-1, 1, 1, 0), k=chance.choice((0, 1, 1)))),
        consumers=chance.choice((1, 1, 2)),
        group_members=chance.choice((0, 0, 0, 2)),
        topic_churn=chance.random() < 0.2,
        transactors=chance.choice((0, 0, 0, 1, 2)),
        copier=chance.random() < 0.15,
        faults=() if chance.random() < 0.03 else tuple(chosen),
        fault_gap_seconds=0.35 if is_mayhem else chance.choice((0.5, 1.0, 2.0)),
        fault_seconds=chance.choice((5.0, 7.0, 9.0)),
        sends_per_second=chance.choice((6.0, 10.0)),
        segment_bytes=chance.choice((1024, 4096, 1 << 20)),
        streams_members=random.Random(f"streams of scenario {seed}").choice((0, 0, 0, 0, 0, 2)),
        guarded_clients=random.Random(f"permissions of scenario {seed}").choice((0, 0, 0, 0, 0, 2)),
    )
    scenario = _with_more(scenario, random.Random(f"more of scenario {seed}"))
    return _with_reserve(scenario, random.Random(f"reserve of scenario {seed}"))


def queue_scenario_of(seed: int) -> Scenario:
    """The cluster and the faults of this seed, with share groups in place of its other clients."""
    chance = random.Random(f"queue scenario {seed}")
    scenario = scenario_of(seed)
    more = [fault for fault in _QUEUE_FAULTS if scenario.nodes > 1 and chance.random() < 0.4]
    return msgspec.structs.replace(
        scenario,
        acks=(-1,),
        consumers=0,
        group_members=0,
        topic_churn=False,
        transactors=0,
        copier=False,
        streams_members=0,
        guarded_clients=0,
        topics={"t": 1},
        faults=(*scenario.faults, *more) if scenario.faults else (),
        sends_per_second=0.5,
        segment_bytes=max(SEGMENT_BYTES_MIN, scenario.segment_bytes),
        queues=queue_plan_of(seed),
    )


def registry_scenario_of(seed: int) -> Scenario:
    """The cluster and the faults of this seed, with clients of the schema registry in place of its others."""
    chance = random.Random(f"registry scenario {seed}")
    # A registration that comes late, after its client has heard of a repetition, runs once more: as with any
    # HTTP client, a deletion in between is then undone. No check can tell that from a loss.
    faults = tuple(fault for fault in scenario_of(seed).faults if fault != "late")
    plan = RegistryPlan(clients=chance.choice((2, 3, 5)), calls_per_second=chance.choice((4.0, 8.0, 15.0)))
    return msgspec.structs.replace(queue_scenario_of(seed), faults=faults, queues=None, registry=plan)


def cores_scenario_of(seed: int) -> Scenario:
    """The clients and the faults of this seed, on three computers with two brokers each.

    No vote is moved: a computer has one, on its first core.
    """
    scenario = scenario_of(seed)
    more = _CORE_FAULTS if scenario.durability == "fsync" else _CORE_FAULTS[:1]
    faults = tuple(fault for fault in scenario.faults if fault != "voters")
    return msgspec.structs.replace(
        scenario,
        nodes=6,
        replicas=3,
        min_insync=2,
        cores=2,
        topics={name: max(3, count) for name, count in scenario.topics.items()},
        faults=(*faults, *more) if scenario.faults else (),
    )


def _with_reserve(scenario: Scenario, chance: random.Random) -> Scenario:
    if not scenario.faults or chance.random() > 0.15:
        return scenario
    return msgspec.structs.replace(
        scenario, reserve_bytes=RESERVE_BYTES, faults=(*scenario.faults, _WITH_RESERVE)
    )


def _with_more(scenario: Scenario, chance: random.Random) -> Scenario:
    """A third of the clusters meets the faults that need more than one of them to do harm."""
    if scenario.nodes == 1 or not scenario.faults or chance.random() > 0.35:
        return scenario
    more = chance.sample(_MORE_FAULTS, chance.randint(1, 3))
    transactors = max(scenario.transactors, chance.choice((0, 1, 2)))
    return msgspec.structs.replace(
        scenario,
        faults=(*scenario.faults, *more),
        transactors=transactors,
        sends_per_second=chance.choice((scenario.sends_per_second, 0.7)),
    )


def _fits(fault: str, nodes: int, durability: str) -> bool:
    if fault == "power":
        # Without a sync before the acknowledgement no promise covers what survives a power cut.
        return durability == "fsync"
    return nodes > 1 or fault not in WITH_OTHERS


def rough(seed: int, *faults: str, **more: object) -> Scenario:
    """Three nodes, many faults of these kinds, and nothing else but what is named: to look for one bug."""
    plan: dict[str, object] = {
        "nodes": 3,
        "replicas": 3,
        "min_insync": 2,
        "durability": "os",
        "topics": {"t": 1},
        "acks": (-1, -1),
        "group_members": 0,
        "streams_members": 0,
        "guarded_clients": 0,
        "topic_churn": False,
        "transactors": 0,
        "copier": False,
        "consumers": 1,
        "faults": faults,
        "fault_gap_seconds": 0.7,
        "fault_seconds": 7.0,
        "sends_per_second": 12.0,
        "reserve_bytes": 0,
    }
    return msgspec.structs.replace(scenario_of(seed), **(plan | more))


def rough_queues(
    seed: int, *faults: str, group: Mapping[str, object] | None = None, **plan: object
) -> Scenario:
    """The same with one queue and one share group: `plan` has what is different in its `QueuePlan`."""
    settings: dict[str, object] = {"delivery_limit": 5, "lock_ms": 1_000, "locks_max": 100, **(group or {})}
    shared = ShareGroupPlan(group="share-0", **settings)  # type: ignore[arg-type]  # for tests
    queues = QueuePlan(topics={"q": 1}, groups=(shared,), members=3, state_partitions=1)
    return rough(
        seed,
        *faults,
        acks=(-1,),
        consumers=0,
        sends_per_second=0.5,
        segment_bytes=1 << 20,
        fault_seconds=5.0,
        queues=msgspec.structs.replace(queues, **plan),
    )


def rough_registry(seed: int, *faults: str, durability: str = "os", **plan: object) -> Scenario:
    """The same with clients of the schema registry."""
    registry = msgspec.structs.replace(RegistryPlan(), **plan)
    return rough(
        seed,
        *faults,
        acks=(-1,),
        consumers=0,
        sends_per_second=0.5,
        segment_bytes=1 << 20,
        fault_seconds=5.0,
        durability=durability,
        registry=registry,
    )
