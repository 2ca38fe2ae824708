"""What is measured: a module for each kind of load. `all_workloads(scale)` lists them in order.

`scale` shrinks the amounts for a quick look: 1 is the full run.
"""

from versus.workload import Workload
from versus.workloads import connections, consuming, latencies, partitions, producing, replicated, requests


def all_workloads(scale: float) -> list[Workload]:
    kinds = (producing, requests, consuming, latencies, partitions, connections, replicated)
    return [workload for kind in kinds for workload in kind.workloads(scale)]
