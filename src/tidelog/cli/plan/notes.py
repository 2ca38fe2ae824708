"""What more machines do not help: one partition, one quorum; and where measurements end."""

from collections.abc import Iterator

from tidelog.cli.plan.coefficients import (
    CONNECTIONS_MEASURED,
    PARTITION_BYTES_PER_SECOND,
    PARTITIONS_MEASURED,
)
from tidelog.cli.plan.load import Load
from tidelog.raft.settings import RaftSettings

BROKERS_MAX = RaftSettings().observers_max


def notes_on(load: Load, brokers: int) -> Iterator[str]:
    partitions = load.partitions_on(brokers)
    if partitions < brokers:
        yield (
            f"{partitions:,} partitions have as many leaders, and the other {brokers - partitions:,} cores "
            "take no writes: give topics more partitions"
        )
    a_partition, comfortable = load.peak_bytes / partitions, PARTITION_BYTES_PER_SECOND
    if a_partition > comfortable:
        yield (
            f"a partition takes {a_partition / 1e6:,.0f} MB/s at the peak, and {comfortable / 1e6:.0f} MB/s "
            "are comfortable for its leader and its reader: give topics more partitions"
        )
    if partitions > PARTITIONS_MEASURED:
        yield f"{partitions:,} partitions: failover was measured with {PARTITIONS_MEASURED:,}"
    if brokers > BROKERS_MAX:
        yield (
            f"{brokers:,} brokers, one for each core: a cluster has at most {BROKERS_MAX:,}; use several "
            "clusters, or larger requests (--batch)"
        )
    if load.connections > CONNECTIONS_MEASURED:
        yield (
            f"{load.connections:,} connections to a broker: their memory was measured with "
            f"{CONNECTIONS_MEASURED:,}"
        )
