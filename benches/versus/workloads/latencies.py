"""From the moment a message is due to the moment a consumer has it, at fixed rates.

Producers have five requests in flight, as every idempotent producer and Java's has. librdkafka's own default
is a million: with `linger.ms=0` each message is then a request of its own, however many wait, and what is
measured is how many requests of one connection a broker serves in a second. One workload shows that, by name.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from benches.versus import generator
from benches.versus.figures import Figure
from benches.versus.systems import System
from benches.versus.workload import LOAD_SHARE, Arena, Workload

SIZE = 1000
SECONDS, WARM_UP_SECONDS = 5.0, 15.0
IN_FLIGHT = 5
CLIENTS = {"p:acks": "all", "c:fetch.wait.max.ms": "500", "c:fetch.queue.backoff.ms": "1"}
BROKER_SHARE = Figure("broker CPU", "cores", False)


class Stream(NamedTuple):
    """Messages a second, `linger.ms`, and whether requests in flight have a limit."""

    rate: int
    linger_ms: int
    limited: bool = True

    def __str__(self) -> str:
        alone = "" if self.limited else ", each message a request"
        return f"end to end at {self.rate:,} messages/s, linger.ms={self.linger_ms}{alone}"


STREAMS = {
    "os": (
        Stream(1_000, 0),
        Stream(10_000, 0),
        Stream(10_000, 1),
        Stream(30_000, 5),
        Stream(100_000, 5),
        Stream(10_000, 0, limited=False),
    ),
    "fsync": (Stream(10_000, 0), Stream(10_000, 1)),
    "defaults": (Stream(10_000, 0), Stream(10_000, 1), Stream(30_000, 5)),
}
"""By durability; 5 ms is the default of librdkafka and of Java's client."""


def workloads(scale: float) -> Iterator[Workload]:
    for durability, streams in STREAMS.items():
        for stream in streams:
            goal = 0.7 if stream.rate == 10_000 and durability == "os" and stream.limited else None
            figures = (
                Figure("p50", "ms", False),
                Figure("p99", "ms", False, goal),
                Figure("p99.9", "ms", False),
                BROKER_SHARE,
                LOAD_SHARE,
            )
            run = partial(measure, stream=stream, seconds=max(2.0, SECONDS * scale))
            warm_up = partial(measure, stream=stream, seconds=max(2.0, WARM_UP_SECONDS * scale))
            yield Workload(str(stream), Arena(durability), figures, run, warm_up=warm_up)


def measure(system: System, *, stream: Stream, seconds: float) -> Mapping[str, float]:
    topic = system.new_topic()
    settings = CLIENTS | {"p:linger.ms": str(stream.linger_ms)}
    if stream.limited:
        settings["p:max.in.flight"] = str(IN_FLIGHT)
    before = system.cpu_seconds()
    run = generator.latency(system.servers, topic, stream.rate, seconds, SIZE, settings=settings)
    cpu = system.cpu_seconds() - before
    system.delete_topic(topic)
    return {
        "p50": run.extra["p50_ms"],
        "p99": run.extra["p99_ms"],
        "p99.9": run.extra["p999_ms"],
        BROKER_SHARE.name: cpu / run.seconds,
        LOAD_SHARE.name: run.cpu / run.seconds,
    }
