"""What a cluster image is made of: brokers, topics, partitions. All of it is immutable."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from tidelog.base.ids import ZERO_UUID, Epoch, NodeId, Uuid
from tidelog.metadata.image.records import Endpoint, FeatureRange, ResourceKind

NO_LEADER: NodeId = -1
UNASSIGNED_DIRECTORY = ZERO_UUID
"""The replica's broker has not said yet in which of its data directories it lives."""
LOST_DIRECTORY: Uuid = bytes(15) + b"\x01"
"""The replica's broker says that its log is damaged: it may not lead before it has been repaired. Kafka's id
for a replica that is in none of its broker's directories."""


class ConfigResource(NamedTuple):
    kind: ResourceKind
    name: str


CLUSTER_DEFAULT = ConfigResource(ResourceKind.BROKER, "")
"""Settings that hold for every broker that has none of its own."""


class BrokerImage(msgspec.Struct, frozen=True):
    id: NodeId
    epoch: Epoch
    incarnation: Uuid
    endpoints: Mapping[str, Endpoint]  # by listener name
    rack: str | None = None
    directories: tuple[Uuid, ...] = ()
    fenced: bool = False
    shutting_down: bool = False
    features: tuple[FeatureRange, ...] = ()
    failed_directories: tuple[Uuid, ...] = ()  # those it had, cannot read now, and may have again
    machine: str | None = None  # shared by brokers that fail together; None: no other broker is there

    @property
    def is_active(self) -> bool:
        """May lead partitions and belong to an in-sync set."""
        return not (self.fenced or self.shutting_down)

    @property
    def machine_key(self) -> str | NodeId:
        """Equal for brokers of one machine alone."""
        return self.id if self.machine is None else self.machine

    @property
    def all_directories(self) -> tuple[Uuid, ...]:
        return self.directories + self.failed_directories

    def directory_for_new_replica(self) -> Uuid:
        return self.directories[0] if len(self.directories) == 1 else UNASSIGNED_DIRECTORY

    def has_online(self, directory: Uuid) -> bool:
        """A broker that named no directories at all, as early versions did, is taken to have them all."""
        if directory == LOST_DIRECTORY:
            return False
        return directory == UNASSIGNED_DIRECTORY or not self.directories or directory in self.directories


class PartitionImage(msgspec.Struct, frozen=True):
    index: int
    replicas: tuple[NodeId, ...]  # the first one is the preferred leader
    isr: tuple[NodeId, ...]
    leader: NodeId  # NO_LEADER while no replica may lead
    leader_epoch: Epoch = 0  # grows when the leader changes
    partition_epoch: Epoch = 0  # grows with every change
    directories: tuple[Uuid, ...] = ()  # one for each replica
    adding: tuple[NodeId, ...] = ()
    removing: tuple[NodeId, ...] = ()
    elr: tuple[NodeId, ...] = ()  # eligible leaders: not in sync, but with all below the high watermark
    last_known_elr: tuple[NodeId, ...] = ()  # the leader that a partition without one had last

    @property
    def is_reassigning(self) -> bool:
        return bool(self.adding or self.removing)

    def replicas_outside(self, live: frozenset[NodeId]) -> list[NodeId]:
        """Those whose broker is not alive, or whose log is damaged.

        Often of many partitions at once, nearly always of none: so the common case is the short one.
        """
        if live.issuperset(self.replicas) and LOST_DIRECTORY not in self.directories:
            return []
        return [id for id in self.replicas if id not in live or self.directory_of(id) == LOST_DIRECTORY]

    def waits_for_repair_of(self, replica: NodeId) -> bool:
        """Its log is damaged, and no other replica is known to have all that was acknowledged."""
        is_trusted = replica in self.isr or replica in self.elr
        return is_trusted and self.directory_of(replica) == LOST_DIRECTORY

    def directory_of(self, replica: NodeId) -> Uuid:
        """Zeros if it is unknown, or if the broker is no replica."""
        if not self.directories or replica not in self.replicas:
            return UNASSIGNED_DIRECTORY
        return self.directories[self.replicas.index(replica)]


class TopicImage(msgspec.Struct, frozen=True):
    name: str
    id: Uuid
    partitions: tuple[PartitionImage, ...] = ()  # the position is the partition's index
    configs: Mapping[str, str] = {}  # overrides only, in Kafka's text form

    def partition(self, index: int) -> PartitionImage | None:
        return self.partitions[index] if 0 <= index < len(self.partitions) else None

    @property
    def replication_factor(self) -> int:
        """That of the first partition, as it will be when a reassignment under way is done."""
        if not self.partitions:
            return 0
        return len(self.partitions[0].replicas) - len(self.partitions[0].removing)
