"""Reading: three consumers at the tail while it is written, and catching up, cached and from the disk."""

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from benches.versus import generator
from benches.versus.figures import Figure
from benches.versus.systems import System
from benches.versus.workload import CPU_PER_GB, LOAD_SHARE, RATE, Arena, Workload

SIZE = 1000
# By default the client stops fetching for a second whenever its queue is full.
EAGER = {"queued.max.messages.kbytes": "200000", "fetch.queue.backoff.ms": "1"}
CONSUMERS = 3


def workloads(scale: float) -> Iterator[Workload]:
    figures = (RATE, CPU_PER_GB, LOAD_SHARE)
    cached, cold, tail = int(2_000_000 * scale), int(10_000_000 * scale), int(600_000 * scale)
    yield Workload(
        f"catch up {cached * SIZE / 1e9:g} GB, cached", Arena(), figures, partial(catch_up, count=cached)
    )
    yield Workload(
        f"catch up {cold * SIZE / 1e9:g} GB, cold", Arena(), figures, partial(catch_up, count=cold, cold=True)
    )
    yield Workload(
        f"{CONSUMERS} consumers at the tail",
        Arena(),
        (RATE, Figure("broker CPU", "s/GB", False)),
        partial(follow, count=tail),
    )


def catch_up(system: System, *, count: int, cold: bool = False) -> Mapping[str, float]:
    topic = system.new_topic()
    generator.produce(system.servers, topic, 1, SIZE, count, settings={"acks": "1"})
    if cold:
        drop_from_cache(system.log_dirs)
    before = system.cpu_seconds()
    run = generator.consume(system.servers, topic, 1, count, settings=EAGER)
    cpu = system.cpu_seconds() - before
    system.delete_topic(topic)
    return {
        RATE.name: run.rate,
        CPU_PER_GB.name: cpu / (run.messages * SIZE / 1e9),
        LOAD_SHARE.name: run.cpu / run.seconds,
    }


def follow(system: System, *, count: int) -> Mapping[str, float]:
    """The rate is that of the last consumer to see everything."""
    topic = system.new_topic()
    before = system.cpu_seconds()
    readers = [
        generator.start("consume", system.servers, topic, 1, count, settings=EAGER) for _ in range(CONSUMERS)
    ]
    generator.produce(system.servers, topic, 1, SIZE, count, settings={"acks": "1"})
    runs = [generator.finished(reader) for reader in readers]
    cpu = system.cpu_seconds() - before
    system.delete_topic(topic)
    moved = count * SIZE * (CONSUMERS + 1) / 1e9
    return {RATE.name: min(run.rate for run in runs), CPU_PER_GB.name: cpu / moved}


def drop_from_cache(folders: list[Path]) -> None:
    """Needs no privilege: written pages are synced, then the kernel is told that nobody wants them."""
    for folder in folders:
        for path in folder.rglob("*.log"):
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
