"""What local users feel: how soon a broker answers, what it weighs idle, how it comes back after kill -9."""

import time
from collections.abc import Iterator, Mapping
from functools import partial

from benches.versus import generator
from benches.versus.figures import Figure
from benches.versus.systems import System
from benches.versus.workload import Arena, Workload

SETTLED_SECONDS = 3
SIZE = 1000


def workloads(scale: float) -> Iterator[Workload]:
    yield Workload(
        "start with little data",
        Arena(purpose="restarts"),
        (Figure("until it answers", "s", False, 0.2), Figure("idle memory", "MB", False, 1 / 6)),
        start,
    )
    count = int(10_000_000 * scale)
    yield Workload(
        f"start after kill -9 with {count * SIZE / 1e9:g} GB",
        Arena(purpose="restarts"),
        (Figure("until it answers", "s", False, 0.2),),
        partial(come_back, count=count),
    )


def start(system: System) -> Mapping[str, float]:
    seconds = system.restart(cleanly=True)
    time.sleep(SETTLED_SECONDS)
    return {"until it answers": seconds, "idle memory": system.resident_bytes() / 1e6}


def come_back(system: System, *, count: int) -> Mapping[str, float]:
    topic = system.new_topic()
    generator.produce(system.servers, topic, 1, SIZE, count, settings={"acks": "1"})
    seconds = system.restart(cleanly=False)
    system.delete_topic(topic)
    return {"until it answers": seconds}
