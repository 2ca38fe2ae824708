"""How many machines each resource asks for."""

from dataclasses import dataclass
from math import ceil

from tidelog.cli.plan.busy import busy
from tidelog.cli.plan.coefficients import INDEX_SHARE, REPLICAS_MAX
from tidelog.cli.plan.load import Load

BUSY_MAX = 0.6
FULL_MAX = 0.75


@dataclass(frozen=True)
class Need:
    """Machines that one resource asks for."""

    resource: str
    machines: float
    """Without a spare one."""
    detail: str
    spare: int
    """Machines that may be away. A disk needs none: what is away comes back with its disk."""

    @property
    def whole(self) -> int:
        return ceil(self.machines) + self.spare


def stored_bytes(load: Load) -> float:
    """Of all replicas at the end of the retention."""
    return load.average * load.retention_s * load.replication * (1 + INDEX_SHARE)


def incoming(load: Load) -> float:
    """Bytes a second at the peak, into all machines."""
    return load.peak_bytes * load.replication


def outgoing(load: Load) -> float:
    return load.peak_bytes * (load.followers + load.groups)


def needs_of(load: Load, machines: int) -> tuple[Need, ...]:
    """What a cluster of so many machines would need: more of them cost more."""
    spare, cores = load.spare, busy(load, machines).cores
    traffic = max(incoming(load), outgoing(load))
    replicas = load.partitions_on(machines * load.cores) * load.replication
    has = "a broker is one core" if load.cores == 1 else f"a machine has {load.cores}"
    needs = [
        Need("CPU", cores / load.cores / BUSY_MAX, f"{cores:.2f} cores busy at the peak; {has}", spare),
        Need(
            "network",
            traffic / (load.network_bytes_per_second * BUSY_MAX),
            f"{traffic / 1e6:,.0f} MB/s in one direction at the peak",
            spare,
        ),
        Need("replicas", replicas / load.cores / REPLICAS_MAX, f"at most {REPLICAS_MAX:,} on a core", spare),
        Need("replication", load.replication, "each replica on a machine of its own", 0),
    ]
    if load.disk_bytes is not None:
        stored = stored_bytes(load)
        needs.append(
            Need("disk", stored / (load.disk_bytes * FULL_MAX), f"{stored / 1e12:,.2f} TB in all", 0)
        )
    return tuple(needs)
