"""The ports of a broker: the real ones, or those of a test or of the simulator."""

from dataclasses import dataclass

from tidelog.base.ports import Clock, Disk, Random
from tidelog.broker.trusted_clock import TrustedClock
from tidelog.server.node_ports import NodeNetwork, Threads


@dataclass(frozen=True)
class NodePorts:
    disk: Disk
    clock: Clock
    trusted: TrustedClock
    """The clock for what expires by age: a jump does not take it along at once."""
    random: Random
    network: NodeNetwork
    threads: Threads
