"""Three brokers: every message on three disks, and each on one of three (do more processes help?)."""

from collections.abc import Iterator
from functools import partial

from benches.versus.workload import CPU_PER_GB, LOAD_SHARE, RATE, Arena, Workload
from benches.versus.workloads.producing import produce

COUNT = 300_000


def workloads(scale: float) -> Iterator[Workload]:
    figures = (RATE, CPU_PER_GB, LOAD_SHARE)
    for durability in ("os", "fsync"):
        run = partial(produce, size=1000, count=int(COUNT * scale), settings={"acks": "all"}, partitions=3)
        yield Workload("produce 1000 B, three replicas, acks=all", Arena(durability, brokers=3), figures, run)
    run = partial(
        produce, size=1000, count=int(2 * COUNT * scale), settings={"acks": "1"}, partitions=3, replicas=1
    )
    yield Workload("produce 1000 B, one replica, over three brokers", Arena(brokers=3), figures, run)
