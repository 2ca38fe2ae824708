"""From a load to brokers, disks, network, memory and partitions. Pure; the figures are in `coefficients`.

A plan leaves room: brokers are busy to `BUSY_MAX` at the peak, disks are full to `FULL_MAX` at the end of the
retention, and all of it holds with one broker away, since brokers restart, and fail.
"""

from dataclasses import dataclass
from math import ceil

from tidelog.cli.plan.coefficients import (
    BROKER_BYTES,
    CONNECTION_BYTES,
    FETCH,
    INDEX_SHARE,
    PARTITION_BYTES,
    PARTITION_BYTES_PER_SECOND,
    PRODUCE,
    REPLICA,
    REPLICAS_MAX,
    TLS_KIB,
)

BUSY_MAX = 0.6
FULL_MAX = 0.75
FETCH_BYTES = 128 * 1024
"""What a fetch brings where records keep coming; fewer bytes at low rates cost little in sum."""
POLLS_PER_SECOND = 4
TAIL_SECONDS = 60
"""Consumers that read the newest records find them in memory if that much fits."""


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
    durability: str = "fsync"
    tls: bool = False
    disk_bytes: float | None = None
    network_bytes_per_second: float = 1.25e9
    partitions: int | None = None


@dataclass(frozen=True)
class Need:
    """Brokers that one resource asks for."""

    resource: str
    brokers: float
    """Without a spare one."""
    detail: str
    spare: int
    """Brokers that may be away. A disk needs none: what is away comes back with its disk."""

    @property
    def whole(self) -> int:
        return ceil(self.brokers) + self.spare


@dataclass(frozen=True)
class Plan:
    load: Load
    brokers: int
    limit: str
    """The resource that decides the number of brokers."""
    needs: tuple[Need, ...]
    partitions: int
    written_per_second: float
    """Bytes a second that producers send on average, compressed."""
    stored_bytes: float
    """Of all replicas at the end of the retention."""
    cores: float
    """Busy at the peak, in the whole cluster."""
    disk_bytes: float
    memory_bytes: float
    network_in: float
    network_out: float
    """For each broker; network at the peak with one broker away."""

    @property
    def replicas_per_broker(self) -> int:
        return ceil(self.partitions * self.load.replication / self.brokers)


def plan(load: Load) -> Plan:
    average = load.messages_per_second * load.message_bytes / load.compression
    peak = average * load.peak
    cores = _cores(load, peak)
    stored = average * load.retention_s * load.replication * (1 + INDEX_SHARE)
    incoming, outgoing = peak * load.replication, peak * (load.replication - 1 + load.groups)
    partitions = load.partitions or max(
        ceil(peak / PARTITION_BYTES_PER_SECOND), load.members, load.replication
    )
    spare = 1 if load.replication > 1 else 0
    traffic, replicas = max(incoming, outgoing), partitions * load.replication
    needs = [
        Need("CPU", cores / BUSY_MAX, f"{cores:.2f} cores busy at the peak; a broker is one core", spare),
        Need(
            "network",
            traffic / (load.network_bytes_per_second * BUSY_MAX),
            f"{traffic / 1e6:,.0f} MB/s in one direction at the peak",
            spare,
        ),
        Need("replicas", replicas / REPLICAS_MAX, f"at most {REPLICAS_MAX:,} on a broker", spare),
        Need("replication", load.replication, "each replica on a broker of its own", 0),
    ]
    if load.disk_bytes is not None:
        needs.append(
            Need("disk", stored / (load.disk_bytes * FULL_MAX), f"{stored / 1e12:,.2f} TB in all", 0)
        )
    largest = max(needs, key=lambda need: (need.whole, need.resource == "replication"))
    brokers = largest.whole
    partitions = load.partitions or ceil(partitions / brokers) * brokers
    serving = max(1, brokers - spare)
    connections = load.connections * CONNECTION_BYTES["tls" if load.tls else "plain"]
    return Plan(
        load,
        brokers,
        largest.resource,
        tuple(needs),
        partitions,
        average,
        stored,
        cores,
        disk_bytes=stored / brokers / FULL_MAX,
        memory_bytes=BROKER_BYTES
        + partitions * load.replication / brokers * PARTITION_BYTES
        + connections
        + TAIL_SECONDS * incoming / serving,
        network_in=incoming / serving,
        network_out=outgoing / serving,
    )


def _cores(load: Load, peak: float) -> float:
    """Busy cores at the peak, over all brokers."""
    requests = peak / load.batch_bytes
    fetches = max(peak / FETCH_BYTES, POLLS_PER_SECOND * load.members) * load.groups
    followers = load.replication - 1
    cores = PRODUCE[load.durability].cores(requests, peak) + FETCH.cores(fetches, peak * load.groups)
    cores += followers * REPLICA.cores(requests, peak)
    if load.durability == "fsync":  # a follower syncs what it copies, as a leader does
        cores += followers * requests * (PRODUCE["fsync"].a_request - PRODUCE["os"].a_request) / 1e6
    if load.tls:
        received, sent = peak * load.replication, peak * (followers + load.groups)
        cores += (received * TLS_KIB["in"] + sent * TLS_KIB["out"]) / 1024 / 1e6
    return cores
