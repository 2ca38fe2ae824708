"""From a load to machines, disks, network, memory and partitions. Pure; the figures are in `coefficients`.

A plan leaves room: cores are busy to `BUSY_MAX` at the peak, disks are full to `FULL_MAX` at the end of the
retention, and all of it holds with one machine away, since machines restart, and fail.
"""

from dataclasses import dataclass
from math import ceil

from tidelog.cli.plan.busy import busy
from tidelog.cli.plan.coefficients import BROKER_BYTES, CONNECTION_BYTES, IMAGE_BYTES, PARTITION_BYTES
from tidelog.cli.plan.load import Load
from tidelog.cli.plan.needs import FULL_MAX, Need, incoming, needs_of, outgoing, stored_bytes
from tidelog.cli.plan.notes import notes_on

TAIL_SECONDS = 60
"""Consumers that read the newest records find them in memory if that much fits."""


@dataclass(frozen=True)
class Plan:
    load: Load
    machines: int
    limit: str
    """The resource that decides the number of machines."""
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
    process_bytes: float
    """What the brokers themselves take of it; the rest is the page cache."""
    network_in: float
    network_out: float
    """For each machine; network at the peak with one machine away."""
    notes: tuple[str, ...]
    """Where the plan meets a limit that more machines do not lift, or leaves what was measured."""

    @property
    def brokers(self) -> int:
        """One for each core of each machine."""
        return self.machines * self.load.cores

    @property
    def replicas_per_broker(self) -> int:
        return ceil(self.partitions * self.load.replication / self.brokers)


def plan(load: Load) -> Plan:
    machines, decides = 1, None
    while True:
        # More machines need a little more themselves, so this goes on until the number is enough.
        needs = needs_of(load, machines)
        largest = max(needs, key=lambda need: (need.whole, need.resource == "replication"))
        if largest.whole <= machines and decides is not None:
            break
        machines, decides = max(machines, largest.whole), largest
    brokers, serving = machines * load.cores, max(1, machines - load.spare)
    return Plan(
        load,
        machines,
        decides.resource,
        needs,
        load.partitions_on(brokers),
        load.average,
        stored_bytes(load),
        busy(load, machines).cores,
        disk_bytes=stored_bytes(load) / machines / FULL_MAX,
        memory_bytes=_process_bytes(load, machines) + TAIL_SECONDS * incoming(load) / serving,
        process_bytes=_process_bytes(load, machines),
        network_in=incoming(load) / serving,
        network_out=outgoing(load) / serving,
        notes=tuple(notes_on(load, brokers)),
    )


def _process_bytes(load: Load, machines: int) -> float:
    brokers = machines * load.cores
    partitions = load.partitions_on(brokers)
    image = brokers * IMAGE_BYTES["broker"] + partitions * IMAGE_BYTES["partition"]
    connections = load.connections * CONNECTION_BYTES["tls" if load.tls else "plain"]
    replicas = partitions * load.replication / machines * PARTITION_BYTES
    return load.cores * (BROKER_BYTES + image + connections) + replicas
