"""From the moment a message is due to the moment a consumer has it, at fixed rates."""

from collections.abc import Iterator, Mapping
from functools import partial

from versus import generator
from versus.figures import Figure
from versus.systems import System
from versus.workload import LOAD_SHARE, Arena, Workload

SIZE = 1000
RATES = (1_000, 10_000, 50_000)
EAGER = {"p:linger.ms": "0", "c:fetch.wait.max.ms": "500", "c:fetch.queue.backoff.ms": "1"}


def workloads(scale: float) -> Iterator[Workload]:
    for rate in RATES:
        figures = (
            Figure("p50", "ms", False),
            Figure("p99", "ms", False, 0.7 if rate == 10_000 else None),
            Figure("p99.9", "ms", False),
            LOAD_SHARE,
        )
        run = partial(measure, rate=rate, seconds=max(3.0, 10 * scale))
        yield Workload(f"end to end at {rate:,} messages/s", Arena(), figures, run)


def measure(system: System, *, rate: int, seconds: float) -> Mapping[str, float]:
    topic = system.new_topic()
    run = generator.latency(system.servers, topic, rate, seconds, SIZE, settings={"p:acks": "1"} | EAGER)
    system.delete_topic(topic)
    return {
        "p50": run.extra["p50_ms"],
        "p99": run.extra["p99_ms"],
        "p99.9": run.extra["p999_ms"],
        LOAD_SHARE.name: run.cpu / run.seconds,
    }
