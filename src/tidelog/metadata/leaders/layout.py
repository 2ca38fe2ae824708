"""The placement of all replicas while a plan is made: loads, machines, racks, and possible moves."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tidelog.base.ids import NodeId

Replicas = tuple[NodeId, ...]
PartitionKey = tuple[str, int]


class UsableBroker(msgspec.Struct, frozen=True):
    """A broker that may hold replicas. Without racks every broker is a rack of its own."""

    broker_id: NodeId
    rack: str | None = None
    machine: str | None = None

    @property
    def machine_key(self) -> str | NodeId:
        """Equal for brokers of one machine alone."""
        return self.broker_id if self.machine is None else self.machine


class PlacedPartition(msgspec.Struct, frozen=True):
    topic: str
    partition: int
    replicas: Replicas
    """The preferred leader first."""


class Layout:
    """Replica lists by partition, and their index by broker and topic, kept in step."""

    def __init__(
        self,
        usable_brokers: Sequence[UsableBroker],
        partitions: Iterable[PlacedPartition],
        others: Sequence[UsableBroker] = (),
    ) -> None:
        """`others` get no replicas; the machines of those that they keep are taken all the same."""
        machines = {known.broker_id: known.machine_key for known in (*others, *usable_brokers)}
        self._machines = machines if len(set(machines.values())) < len(machines) else {}
        """Empty where each broker has its own, as is usual."""
        self.racks: dict[NodeId, object] = {
            usable.broker_id: usable.broker_id if usable.rack is None else usable.rack
            for usable in sorted(usable_brokers, key=lambda usable: usable.broker_id)
        }
        self.replicas: dict[PartitionKey, Replicas] = {}
        self.load: dict[NodeId, int] = dict.fromkeys(self.racks, 0)
        self.held: dict[NodeId, dict[str, dict[PartitionKey, None]]] = {id: {} for id in self.racks}
        """For each broker its partitions by topic."""
        for placed in sorted(partitions, key=lambda placed: (placed.topic, placed.partition)):
            key = placed.topic, placed.partition
            self.replicas[key] = placed.replicas
            for broker in placed.replicas:
                if broker in self.racks:
                    self._take(broker, key)

    def crowding(self, replicas: Sequence[NodeId]) -> int:
        """The number of replica pairs that share a rack; an unknown broker shares none."""
        racks = [self.racks[broker] for broker in replicas if broker in self.racks]
        return sum(racks.count(rack) - 1 for rack in racks) // 2

    def strain(self, replicas: Sequence[NodeId]) -> tuple[int, int]:
        """Pairs of replicas that share a machine, which weigh most, and pairs that share a rack."""
        if not self._machines:
            return 0, self.crowding(replicas)
        machines = [self._machines[broker] for broker in replicas if broker in self._machines]
        return sum(machines.count(machine) - 1 for machine in machines) // 2, self.crowding(replicas)

    def swapped(self, key: PartitionKey, leaves: NodeId, comes: NodeId) -> Replicas:
        """The new replica takes the position in the list, and so the role, of the one that leaves."""
        return tuple(comes if broker == leaves else broker for broker in self.replicas[key])

    def may_move(self, key: PartitionKey, leaves: NodeId, comes: NodeId) -> bool:
        """Never two replicas on one broker, never more on one machine or in one rack than before."""
        replicas = self.replicas[key]
        if leaves not in replicas or comes in replicas:
            return False
        if not self._machines and self.racks.get(leaves) == self.racks[comes]:
            return True
        return self.strain(self.swapped(key, leaves, comes)) <= self.strain(replicas)

    def move(self, key: PartitionKey, leaves: NodeId, comes: NodeId) -> None:
        self.replicas[key] = self.swapped(key, leaves, comes)
        if leaves in self.racks:
            topics = self.held[leaves]
            of_topic = topics.pop(key[0])
            del of_topic[key]
            if of_topic:
                topics[key[0]] = of_topic  # to the end: the next move takes from another topic
            self.load[leaves] -= 1
        self._take(comes, key)

    def movable(self, leaves: NodeId, comes: NodeId) -> PartitionKey | None:
        """A partition to move between the two brokers; preferably of a topic of which the target has
        fewer."""
        gains, topics = self.held[comes], self.held[leaves]
        passed: list[str] = []
        spare: PartitionKey | None = None
        found: PartitionKey | None = None
        for topic, keys in topics.items():
            evens_out = len(keys) > len(gains.get(topic, ()))
            if spare is None or evens_out:
                key = self._movable_of(keys, leaves, comes)
                if key is not None and evens_out:
                    found = key
                    break
                spare = spare or key
            passed.append(topic)
        for topic in passed:  # not to be looked at again and again while there are others
            topics[topic] = topics.pop(topic)
        return found or spare

    def _movable_of(
        self, keys: dict[PartitionKey, None], leaves: NodeId, comes: NodeId
    ) -> PartitionKey | None:
        passed: list[PartitionKey] = []
        for key in keys:
            if self.may_move(key, leaves, comes):
                break
            passed.append(key)
        else:
            return None
        for other in passed:
            keys[other] = keys.pop(other)
        return key

    def best_target(self, key: PartitionKey, leaves: NodeId) -> NodeId | None:
        """The best broker for a replica that must move: machine and rack first, then the least load."""
        replicas, topic = self.replicas[key], key[0]
        free = [broker for broker in self.racks if broker not in replicas]
        return min(
            free,
            key=lambda broker: (
                self.strain(self.swapped(key, leaves, broker)),
                self.load[broker],
                len(self.held[broker].get(topic, ())),
            ),
            default=None,
        )

    def misplaced(self) -> Iterator[tuple[PartitionKey, NodeId]]:
        """Replicas on brokers that may not hold any."""
        for key, replicas in list(self.replicas.items()):
            for broker in replicas:
                if broker not in self.racks:
                    yield key, broker

    def _take(self, broker: NodeId, key: PartitionKey) -> None:
        self.held[broker].setdefault(key[0], {})[key] = None
        self.load[broker] += 1
