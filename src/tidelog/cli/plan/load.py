"""What is to be carried: the input of a plan, and the rates that follow from it."""

from dataclasses import dataclass
from math import ceil

from tidelog.cli.plan.coefficients import PARTITION_BYTES_PER_SECOND


@dataclass(frozen=True)
class Load:
    messages_per_second: float
    message_bytes: float
    retention_s: float
    groups: int = 1
    replication: int = 3
    peak: float = 2.0
    compression: float = 1.0
    batch_bytes: int = 16 * 1024
    members: int = 1
    connections: int = 100
    """Of clients, to each broker."""
    durability: str = "fsync"
    tls: bool = False
    cores: int = 1
    """Of a machine: a broker for each."""
    disk_bytes: float | None = None
    network_bytes_per_second: float = 1.25e9
    """Of a machine, as the disk."""
    partitions: int | None = None

    @property
    def average(self) -> float:
        """Bytes a second that producers send, compressed."""
        return self.messages_per_second * self.message_bytes / self.compression

    @property
    def peak_bytes(self) -> float:
        return self.average * self.peak

    @property
    def requests(self) -> float:
        """A second, at the peak."""
        return self.peak_bytes / self.batch_bytes

    @property
    def followers(self) -> int:
        return self.replication - 1

    @property
    def spare(self) -> int:
        """Machines that may be away."""
        return 1 if self.replication > 1 else 0

    def partitions_on(self, brokers: int) -> int:
        """As given, or enough for the rate and the consumers, and the same number on each broker."""
        if self.partitions is not None:
            return self.partitions
        least = max(ceil(self.peak_bytes / PARTITION_BYTES_PER_SECOND), self.members, self.replication)
        return ceil(least / brokers) * brokers
