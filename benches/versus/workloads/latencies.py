"""From the moment a message is due to the moment a consumer has it, at fixed rates."""

from collections.abc import Iterator, Mapping
from functools import partial

from benches.versus import generator
from benches.versus.figures import Figure
from benches.versus.systems import System
from benches.versus.workload import LOAD_SHARE, Arena, Workload

SIZE = 1000
RATES = ((1_000, 0), (10_000, 0), (50_000, 0), (100_000, 1))
"""Messages a second, and `linger.ms`: at the last rate two cores have no time to send each by itself."""
EAGER = {"p:acks": "1", "c:fetch.wait.max.ms": "500", "c:fetch.queue.backoff.ms": "1"}


def workloads(scale: float) -> Iterator[Workload]:
    for rate, linger_ms in RATES:
        figures = (
            Figure("p50", "ms", False),
            Figure("p99", "ms", False, 0.7 if rate == 10_000 else None),
            Figure("p99.9", "ms", False),
            LOAD_SHARE,
        )
        run = partial(measure, rate=rate, linger_ms=linger_ms, seconds=max(3.0, 10 * scale))
        lingering = f", linger.ms={linger_ms}" if linger_ms else ""
        yield Workload(f"end to end at {rate:,} messages/s{lingering}", Arena(), figures, run)


def measure(system: System, *, rate: int, linger_ms: int, seconds: float) -> Mapping[str, float]:
    topic = system.new_topic()
    settings = EAGER | {"p:linger.ms": str(linger_ms)}
    run = generator.latency(system.servers, topic, rate, seconds, SIZE, settings=settings)
    system.delete_topic(topic)
    return {
        "p50": run.extra["p50_ms"],
        "p99": run.extra["p99_ms"],
        "p99.9": run.extra["p999_ms"],
        LOAD_SHARE.name: run.cpu / run.seconds,
    }
