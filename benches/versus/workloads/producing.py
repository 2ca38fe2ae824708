"""Messages as fast as librdkafka sends them, with its defaults, plain and compressed."""

from collections.abc import Iterator, Mapping
from functools import partial

from benches.versus import generator
from benches.versus.systems import System
from benches.versus.workload import CPU_PER_GB, LOAD_SHARE, RATE, Arena, Workload

COUNTS = {100: 3_000_000, 1000: 600_000}


def workloads(scale: float) -> Iterator[Workload]:
    figures = (RATE, CPU_PER_GB, LOAD_SHARE)
    for size, count in COUNTS.items():
        for acks in ("1", "all"):
            for durability in ("os", "fsync"):
                if acks == "1" and durability == "fsync":
                    continue
                run = partial(produce, size=size, count=int(count * scale), settings={"acks": acks})
                yield Workload(f"produce {size} B, acks={acks}", Arena(durability), figures, run)
    for codec in ("lz4", "zstd"):
        settings = {"acks": "1", "compression.type": codec}
        run = partial(produce, size=1000, count=int(COUNTS[1000] * scale), settings=settings)
        yield Workload(f"produce 1000 B, acks=1, {codec}", Arena(), figures, run)


def produce(
    system: System,
    *,
    size: int,
    count: int,
    settings: dict[str, str],
    partitions: int = 1,
    replicas: int | None = None,
) -> Mapping[str, float]:
    topic = system.new_topic(partitions, replicas)
    before = system.cpu_seconds()
    run = generator.produce(system.servers, topic, partitions, size, count, settings=settings)
    cpu = system.cpu_seconds() - before
    system.delete_topic(topic)
    return {
        RATE.name: run.rate,
        CPU_PER_GB.name: cpu / (run.messages * size / 1e9),
        LOAD_SHARE.name: run.cpu / run.seconds,
    }
