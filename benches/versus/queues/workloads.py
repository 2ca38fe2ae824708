"""What is measured of queues: draining with batches of acknowledgements, and single jobs at a fixed rate."""

from collections.abc import Iterator, Mapping
from functools import partial

from benches.versus import generator
from benches.versus.figures import Figure
from benches.versus.queues import jobs
from benches.versus.queues.jobs import Load
from benches.versus.queues.quorum import QuorumQueues
from benches.versus.systems import System
from benches.versus.workload import LOAD_SHARE, Arena, Workload
from benches.versus.workloads.consuming import EAGER

RATE = Figure("jobs", "messages/s", True, 1.0)
CPU = Figure("server CPU", "s/million", False, 1.0)
OF_GROUP = Figure("share of a consumer group's rate", "ratio", True)
SERVED = Figure("served", "messages/s", True)
P50, P99 = Figure("p50", "ms", False), Figure("p99", "ms", False)
SERVER_CORES = Figure("server CPU", "cores", False, 1.0)
WORKERS, JOBS_PER_SECOND = 50, 10_000


def workloads(scale: float) -> Iterator[Workload]:
    count = int(1_000_000 * scale)
    for durability in ("os", "fsync"):
        arena = Arena(durability, purpose="queues")
        for prefetch in (500, 2_500):
            yield Workload(
                f"drain a queue of {jobs.SIZE} B messages, prefetch {prefetch:,}",
                arena,
                (RATE, CPU, OF_GROUP, LOAD_SHARE),
                partial(drain, count=count, prefetch=prefetch),
            )
        for prefetch in (10, 1):
            rate = JOBS_PER_SECOND if prefetch > 1 else JOBS_PER_SECOND // 5
            yield Workload(
                f"{rate:,} messages/s to {WORKERS} workers, prefetch {prefetch}",
                arena,
                (SERVED, P50, P99, SERVER_CORES),
                partial(serve, load=Load(rate, max(2.0, 10 * scale), WORKERS, prefetch)),
            )


def drain(system: System, *, count: int, prefetch: int) -> Mapping[str, float]:
    topic = system.new_topic()
    jobs.fill(system, topic, count)
    of_group = 0.0
    if not isinstance(system, QuorumQueues):
        of_group = generator.consume(system.servers, topic, 1, count, settings=EAGER).rate
    before = system.cpu_seconds()
    run = jobs.drain(system, topic, count, prefetch)
    cpu = system.cpu_seconds() - before
    system.delete_topic(topic)
    found = {RATE.name: run.rate, CPU.name: cpu / count * 1e6, LOAD_SHARE.name: run.cpu / run.seconds}
    return found | ({OF_GROUP.name: run.rate / of_group} if of_group else {})


def serve(system: System, *, load: Load) -> Mapping[str, float]:
    topic = system.new_topic()
    before = system.cpu_seconds()
    served = jobs.serve(system, topic, load)
    cpu = system.cpu_seconds() - before
    system.delete_topic(topic)
    return {
        SERVED.name: served.rate,
        P50.name: served.percentile(0.5),
        P99.name: served.percentile(0.99),
        SERVER_CORES.name: cpu / (load.seconds + jobs.WARM_UP_SECONDS),
    }
