"""What `Admin` answers with: plain immutable values."""

from dataclasses import dataclass, field
from enum import Enum

from tidelog.clients.records import TopicPartition


@dataclass(frozen=True, slots=True)
class Node:
    id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    cluster_id: str | None
    controller: Node | None
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    partition: int
    leader: int | None
    """None while no broker leads it."""
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicDescription:
    name: str
    topic_id: str | None
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]

    def places(self) -> list[TopicPartition]:
        return [TopicPartition(self.name, each.partition) for each in self.partitions]


class ConfigSource(Enum):
    """Where a value comes from."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    CLUSTER = 3
    FILE = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


@dataclass(frozen=True, slots=True)
class ConfigValue:
    name: str
    value: str | None
    """None where it is sensitive, or not set."""
    source: ConfigSource
    is_read_only: bool
    is_sensitive: bool

    @property
    def is_own(self) -> bool:
        """Set on the resource itself, not inherited."""
        return self.source in (ConfigSource.TOPIC, ConfigSource.BROKER, ConfigSource.GROUP)


@dataclass(frozen=True, slots=True)
class FoundOffset:
    offset: int | None
    """None where no record fits, such as none that young."""
    timestamp: int | None
    leader_epoch: int | None


class GroupState(Enum):
    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"


class GroupType(Enum):
    UNKNOWN = "Unknown"
    CLASSIC = "Classic"
    CONSUMER = "Consumer"


@dataclass(frozen=True, slots=True)
class GroupListing:
    group_id: str
    state: GroupState
    type: GroupType
    is_simple: bool
    """Offsets only: its consumers assign partitions themselves."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    member_id: str
    client_id: str
    host: str
    instance_id: str | None
    assignment: tuple[TopicPartition, ...] = field(default=())
    target_assignment: tuple[TopicPartition, ...] = field(default=())
    """Where a group of the new protocol is heading."""


@dataclass(frozen=True, slots=True)
class GroupDescription:
    group_id: str
    state: GroupState
    type: GroupType
    assignor: str
    coordinator: Node | None
    members: tuple[GroupMember, ...]
