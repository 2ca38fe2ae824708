"""What the checks look at inside a broker, in one place, so that they need not know how it is built."""

from collections.abc import Iterator
from typing import NamedTuple

from tidelog.metadata.image import ClusterImage
from tidelog.node import Node
from tidelog.raft.core import Raft
from tidelog.replication.partition import Partition
from tidelog.testing.sim.cluster import SimCluster
from tidelog.testing.sim.machine import Machine


class View(NamedTuple):
    """A broker that serves."""

    machine: Machine
    node: Node

    @property
    def life(self) -> str:
        return f"{self.machine.host}.{self.machine.lives}"

    @property
    def raft(self) -> Raft:
        return self.node.metadata.quorum.raft

    @property
    def image(self) -> ClusterImage:
        return self.node.metadata.image

    @property
    def version(self) -> int:
        return self.node.metadata.version

    @property
    def partitions(self) -> Iterator[Partition]:
        return iter(self.node.partitions)


def views(cluster: SimCluster) -> list[View]:
    return [View(machine, machine.node) for machine in cluster.machines if machine.node is not None]


def newest(seen: list[View]) -> View | None:
    """The broker that knows most of the cluster's metadata."""
    return max(seen, key=lambda view: view.version, default=None)
