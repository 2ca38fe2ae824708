"""What the checks look at inside a broker, in one place, so that they need not know how it is built."""

from collections.abc import Iterator
from typing import NamedTuple

from tidelog.base.ids import Uuid
from tidelog.broker.shares.led_share import LedShare
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.topics.names import TRANSACTION_STATE
from tidelog.node.node import BrokerNode
from tidelog.raft.core import Raft
from tidelog.raft.log import RaftLog
from tidelog.replication.partition import Partition
from tidelog.security.acls.acl import Acl
from tidelog.testing.share_history import Stored
from tidelog.testing.sim.cluster.cluster import SimCluster
from tidelog.testing.sim.cluster.machine import Machine
from tidelog.transactions.transaction import Transaction
from tidelog.wire.batch import iter_batches
from tidelog.wire.record import read_records

READ_BYTES = 1 << 16

Place = tuple[str, int]
"""The name of a topic, and the index of a partition."""


class View(NamedTuple):
    """A broker."""

    machine: Machine
    node: BrokerNode

    @property
    def life(self) -> str:
        return f"{self.machine.host}.{self.machine.lives}"

    @property
    def raft(self) -> Raft:
        return self.node.quorum.raft

    @property
    def storage(self) -> bytes:
        """Which disk it votes with."""
        return self.node.quorum.raft._node.storage

    @property
    def raft_log(self) -> RaftLog:
        return self.node.quorum.raft._node.log

    @property
    def image(self) -> ClusterImage:
        return self.node.services.metadata.image

    @property
    def version(self) -> int:
        return self.node.services.metadata.version

    @property
    def is_controller(self) -> bool:
        return self.node.services.metadata.is_controller

    @property
    def partitions(self) -> Iterator[Partition]:
        return iter(self.node.services.partitions)

    @property
    def shares(self) -> list[LedShare]:
        """The share partitions at work."""
        shares = self.node.services.shares if hasattr(self.node, "services") else None
        return [] if shares is None else list(shares)

    @staticmethod
    def leader_mark(partition: Partition) -> int:
        """Up to where the leader has committed, as far as a follower heard of it."""
        return partition.follower.leader_high_watermark

    def partition(self, topic_id: Uuid, index: int) -> Partition | None:
        return self.node.services.partitions.current(topic_id, index)


def views(cluster: SimCluster) -> list[View]:
    """Of all brokers that run, those that are still starting too once they take part in the quorum."""
    processes = ((machine, machine.process) for machine in cluster.machines)
    return [
        View(machine, node) for machine, node in processes if node is not None and hasattr(node, "quorum")
    ]


def newest(seen: list[View]) -> View | None:
    """The broker that knows most of the cluster's metadata."""
    return max(seen, key=lambda view: view.version, default=None)


def stored_records(seen: list[View], topic: str) -> tuple[list[Stored], int]:
    """All committed records of a topic as its leaders have them, and the number of its partitions."""
    stored: list[Stored] = []
    count = 0
    for view in seen:
        for partition in view.partitions:
            if partition.topic == topic and partition.is_leader:
                count += 1
                stored += _records_of(partition)
    return stored, count


def _records_of(partition: Partition) -> Iterator[Stored]:
    offset = partition.log.start
    while offset < partition.high_watermark:
        found = partition.log.read(offset, READ_BYTES, end=partition.high_watermark)
        if found is None:
            return
        view = memoryview(found.slice.read())
        for position, header in iter_batches(view):
            offset = header.next_offset
            for record in [] if header.is_control else read_records(view[position : position + header.size]):
                headers = [(name, bytes(value or b"").decode()) for name, value in record.headers]
                value = bytes(record.value or b"").decode()
                yield Stored(name_of(partition), record.offset, value, headers)


def transaction_of(seen: list[View], transactional_id: str) -> Transaction | None:
    """As its coordinator knows it; None where that cannot be said now."""
    best = newest(seen)
    if best is None:
        return None
    index = best.node.services.transactions.service.partition_of(transactional_id)
    image = best.image.partition(TRANSACTION_STATE, index)
    for view in seen:
        for served in view.node.services.transactions:
            partition = served.partition
            current = index, None if image is None else image.leader_epoch
            if (partition.index, partition.leader_epoch) == current:
                return served.shard.transactions.get(transactional_id)
    return None


def life_with_acl(cluster: SimCluster, acl: Acl, host: str) -> str | None:
    """The process at a host that has applied an ACL; None where it has not, or where none runs."""
    for view in views(cluster):
        if view.machine.host == host and view.image.security is not None and acl in view.image.security.acls:
            return view.life
    return None


def place_of(partition: Partition) -> Place:
    return partition.topic, partition.index


def name_of(partition: Partition) -> str:
    return f"{partition.topic}-{partition.index}"
