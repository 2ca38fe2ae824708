"""The same messages over one, a hundred and a thousand partitions; and one topic over several processes."""

from collections.abc import Iterator
from functools import partial

from benches.versus.workload import CPU_PER_GB, LOAD_SHARE, RATE, Arena, Workload
from benches.versus.workloads.producing import produce

COUNT = 600_000


def workloads(scale: float) -> Iterator[Workload]:
    for partitions in (1, 100, 1000):
        run = partial(
            produce, size=1000, count=int(COUNT * scale), settings={"acks": "1"}, partitions=partitions
        )
        yield Workload(
            f"produce 1000 B to {partitions} partitions", Arena(), (RATE, CPU_PER_GB, LOAD_SHARE), run
        )
