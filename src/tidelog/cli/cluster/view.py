"""A snapshot of a cluster: its brokers, and the leader and replicas of each partition."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tidelog.base.errors import ErrorCode
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.clients.records import TopicPartition


@dataclass(frozen=True, slots=True)
class Broker:
    id: int
    host: str
    port: int
    rack: str | None = None
    fenced: bool = False
    """Registered, but the controller does not hear of it: it leads nothing and is in no in-sync set."""
    machine: str | None = None
    """Shared with brokers that fail together with it."""

    @property
    def machine_key(self) -> str | int:
        """Equal for brokers of one machine alone."""
        return self.id if self.machine is None else self.machine

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Partition:
    place: TopicPartition
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    offline: tuple[int, ...] = ()
    """Replicas that cannot serve: their broker is not alive, or their log is damaged."""

    @property
    def preferred(self) -> int | None:
        return self.replicas[0] if self.replicas else None

    @property
    def is_under_replicated(self) -> bool:
        return len(self.in_sync) < len(self.replicas)


@dataclass(frozen=True, slots=True)
class ClusterView:
    cluster_id: str
    controller: int | None
    """As a broker tells it to clients. Apache Kafka names any broker; the quorum's leader is the real one."""
    brokers: dict[int, Broker]
    partitions: dict[TopicPartition, Partition]

    @property
    def topics(self) -> dict[str, list[Partition]]:
        by_topic: dict[str, list[Partition]] = {}
        for partition in self.partitions.values():
            by_topic.setdefault(partition.place.topic, []).append(partition)
        return by_topic

    @property
    def alive(self) -> list[Broker]:
        return [broker for broker in self.brokers.values() if not broker.fenced]

    @property
    def machines(self) -> dict[str, list[Broker]]:
        """The brokers of each machine that has a name."""
        found: dict[str, list[Broker]] = {}
        for broker in self.brokers.values():
            if broker.machine is not None:
                found.setdefault(broker.machine, []).append(broker)
        return found

    @property
    def computers(self) -> int:
        """How many of them can fail apart from each other: machines, and brokers that share none."""
        return len({broker.machine_key for broker in self.brokers.values()})

    def neighbours(self, id: int) -> list[int]:
        """The other brokers on the machine of this one; none of one that the cluster does not show."""
        if id not in self.brokers:
            return []
        machine = self.brokers[id].machine_key
        return [
            other.id for other in self.brokers.values() if other.machine_key == machine and other.id != id
        ]

    def broker(self, id: int) -> Broker:
        """NOT_FOUND for a broker that the cluster does not know."""
        if id in self.brokers:
            return self.brokers[id]
        raise CliError(
            f"There is no broker {id} in this cluster; it has {numbers_text(self.brokers)}.",
            attempt="tidelog cluster brokers",
            code=Exit.NOT_FOUND,
        )

    def assignments(self, topics: Collection[str] | None = None) -> dict[TopicPartition, tuple[int, ...]]:
        """The replicas of each partition, of these topics or of all."""
        return {
            place: partition.replicas
            for place, partition in self.partitions.items()
            if topics is None or place.topic in topics
        }


def numbers_text(ids: Iterable[int]) -> str:
    shown = [str(id) for id in sorted(ids)]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown) or "none"


def look_at_brokers(cluster: DirectCluster) -> ClusterView:
    """Brokers alone, without the partitions."""
    from tidelog.wire.messages.describe_cluster import DescribeClusterRequest

    answer = cluster.ask(DescribeClusterRequest(include_fenced_brokers=True))
    if answer.error_code:
        raise refusal(answer.error_code, answer.error_message, "The cluster cannot be described")
    brokers = [
        Broker(found.broker_id, found.host, found.port, found.rack, found.is_fenced, found.machine)
        for found in answer.brokers
    ]
    controller = answer.controller_id if answer.controller_id >= 0 else None
    cluster.learn((broker.host, broker.port) for broker in brokers if not broker.fenced)
    by_id = {broker.id: broker for broker in sorted(brokers, key=lambda broker: broker.id)}
    return ClusterView(answer.cluster_id, controller, by_id, {})


def look_at_cluster(cluster: DirectCluster, topics: Collection[str] | None = None) -> ClusterView:
    """Brokers and the partitions of these topics, or of all; NOT_FOUND where one does not exist."""
    from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

    view = look_at_brokers(cluster)
    wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
    request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
    answer = cluster.ask(request, at_least=4)
    partitions = []
    for topic in answer.topics:
        if topic.error_code:
            raise _topic_refusal(topic.error_code, topic.name or "?", cluster)
        for found in topic.partitions:
            place = TopicPartition(topic.name or "", found.partition_index)
            leader = found.leader_id if found.leader_id >= 0 else None
            replicas, in_sync = tuple(found.replica_nodes), tuple(found.isr_nodes)
            partitions.append(Partition(place, leader, replicas, in_sync, tuple(found.offline_replicas)))
    in_order = {found.place: found for found in sorted(partitions, key=lambda found: found.place)}
    return ClusterView(view.cluster_id, view.controller, view.brokers, in_order)


def _topic_refusal(code: int, name: str, cluster: DirectCluster) -> CliError:
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return CliError(
            f"There is no topic '{name}' at {cluster.session.servers}.",
            cause="it was never created, was deleted, or lives in another cluster.",
            attempt="tidelog topic list",
            code=Exit.NOT_FOUND,
        )
    return refusal(code, None, f"Topic '{name}'")
