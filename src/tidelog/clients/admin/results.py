"""What `Admin` answers with: plain immutable values."""

from dataclasses import dataclass, field
from enum import Enum

from tidelog.clients.records import TopicPartition


@dataclass(frozen=True, slots=True)
class Node:
    """A broker, as clients reach it.

    Attributes:
        id: Its `node.id`.
        host: The host that it advertises.
        port: The port that it advertises.
        rack: Its `broker.rack`, if it has one.
    """

    id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """What `Admin.describe_cluster` gives.

    Attributes:
        cluster_id: The name that the cluster gave itself when it was made.
        controller: The broker that decides about topics and leaders now; None while there is none.
        nodes: All live brokers, by id.
    """

    cluster_id: str | None
    controller: Node | None
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """One partition of a `TopicDescription`.

    Attributes:
        partition: Its number, from 0.
        leader: The id of the broker that serves it; None while no broker leads it.
        replicas: The brokers that hold it, the preferred leader first.
        in_sync: Those of them that have everything that is acknowledged.
    """

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """What `Admin.describe_topic` gives.

    Attributes:
        name: The topic.
        topic_id: Its id, which a topic that is deleted and created again does not keep.
        is_internal: Whether the brokers keep it for themselves, as `__consumer_offsets`.
        partitions: Its partitions, by number.
    """

    name: str
    topic_id: str | None
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]

    def places(self) -> list[TopicPartition]:
        """All partitions of the topic, ready for `Consumer.assign` or `Admin.list_offsets`."""
        return [TopicPartition(self.name, each.partition) for each in self.partitions]


class ConfigSource(Enum):
    """Where the value of a setting comes from.

    Attributes:
        UNKNOWN: The broker named a source that this client does not know.
        TOPIC: Set on the topic.
        BROKER: Set on this broker while it runs.
        CLUSTER: Set for all brokers while they run.
        FILE: From the broker's file, environment or flags.
        DEFAULT: Set nowhere.
        CLIENT_METRICS: Set on a subscription to the metrics of clients.
        GROUP: Set on the consumer group.
    """

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    CLUSTER = 3
    FILE = 4
    DEFAULT = 5
    CLIENT_METRICS = 6
    GROUP = 7


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """A setting of a topic or a broker, as `Admin.topic_config` and `Admin.broker_config` give it.

    Attributes:
        name: The setting, such as `retention.ms`.
        value: Its value as text; None where it is not set, or secret.
        source: Where the value comes from.
        is_read_only: Whether it can change only with a restart of the broker.
        is_sensitive: Whether it is secret, and its value withheld.
    """

    name: str
    value: str | None
    source: ConfigSource
    is_read_only: bool
    is_sensitive: bool

    @property
    def is_own(self) -> bool:
        """Whether the value is set on the topic, broker or group itself, not inherited."""
        return self.source in (ConfigSource.TOPIC, ConfigSource.BROKER, ConfigSource.GROUP)


@dataclass(frozen=True, slots=True)
class FoundOffset:
    """What `Admin.list_offsets` finds in a partition.

    Attributes:
        offset: The offset; None where no record fits, such as none that is late enough.
        timestamp: The time of the record there in milliseconds since 1970; None where unknown.
        leader_epoch: The term of the leader that wrote the record; None where unknown.
    """

    offset: int | None
    timestamp: int | None
    leader_epoch: int | None


class GroupState(Enum):
    """What a consumer group is doing.

    Attributes:
        UNKNOWN: The broker did not tell.
        PREPARING_REBALANCE: It waits for its members to join.
        COMPLETING_REBALANCE: It waits for the new assignment.
        STABLE: Its members read.
        DEAD: It is gone.
        EMPTY: It has committed offsets, and no members.
    """

    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"


class GroupType(Enum):
    """Which protocol the members of a group speak.

    Attributes:
        UNKNOWN: The broker did not tell.
        CLASSIC: `GroupProtocol.CLASSIC`.
        CONSUMER: `GroupProtocol.CONSUMER`.
    """

    UNKNOWN = "Unknown"
    CLASSIC = "Classic"
    CONSUMER = "Consumer"


@dataclass(frozen=True, slots=True)
class GroupListing:
    """One line of `Admin.list_groups`.

    Attributes:
        group_id: The group.
        state: What it is doing.
        type: Which protocol it uses.
        is_simple: Whether it only keeps offsets, for consumers that assign partitions themselves.
    """

    group_id: str
    state: GroupState
    type: GroupType
    is_simple: bool


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One consumer of a `GroupDescription`.

    Attributes:
        member_id: The name that the broker knows it by.
        client_id: The `client_id` of its configuration.
        host: Where it connects from.
        instance_id: Its `group_instance_id`, if it is a static member.
        assignment: The partitions that it reads now.
        target_assignment: Those that it is to read once the rebalance is over; `GroupProtocol.CONSUMER` only.
    """

    member_id: str
    client_id: str
    host: str
    instance_id: str | None
    assignment: tuple[TopicPartition, ...] = field(default=())
    target_assignment: tuple[TopicPartition, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """What `Admin.describe_group` gives.

    Attributes:
        group_id: The group.
        state: What it is doing.
        type: Which protocol it uses.
        assignor: What shares out the partitions, such as `range` or `uniform`.
        coordinator: The broker that looks after it.
        members: Its consumers.
    """

    group_id: str
    state: GroupState
    type: GroupType
    assignor: str
    coordinator: Node | None
    members: tuple[GroupMember, ...]
