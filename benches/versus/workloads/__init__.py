"""What is measured: a module for each kind of load. `all_workloads(scale)` lists them in order.

`scale` shrinks the amounts for a quick look: 1 is the full run.
"""

from benches.versus.workload import Workload
from benches.versus.workloads import (
    connections,
    consuming,
    fetching,
    latencies,
    partitions,
    producing,
    replicated,
    requests,
    starting,
    transactions,
)


def all_workloads(scale: float) -> list[Workload]:
    kinds = (
        producing,
        requests,
        fetching,
        consuming,
        latencies,
        partitions,
        connections,
        replicated,
        transactions,
        starting,
    )
    return [workload for kind in kinds for workload in kind.workloads(scale)]
