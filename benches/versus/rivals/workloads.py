"""What all four can do: write confirmed messages on one server, read them again, and start."""

from collections.abc import Iterator, Mapping
from functools import partial

from benches.versus import generator
from benches.versus.figures import Figure
from benches.versus.generator import Run
from benches.versus.rivals.server import Rival
from benches.versus.rivals.window import BLOCK
from benches.versus.systems import System
from benches.versus.workload import Arena, Workload
from benches.versus.workloads import starting
from benches.versus.workloads.consuming import EAGER

COUNTS = {100: 1_000_000, 1000: 300_000}
ARENA = Arena(purpose="rivals")

PRODUCE, CONSUME = Figure("produce", "messages/s", True), Figure("consume", "messages/s", True)
PRODUCE_CPU = Figure("server CPU, produce", "s/million", False)
CONSUME_CPU = Figure("server CPU, consume", "s/million", False)
PRODUCE_LOAD = Figure("generator's CPU, produce", "cores", False)
CONSUME_LOAD = Figure("generator's CPU, consume", "cores", False)
MEMORY = Figure("resident memory afterwards", "MB", False)


def workloads(scale: float) -> Iterator[Workload]:
    figures = (PRODUCE, PRODUCE_CPU, PRODUCE_LOAD, CONSUME, CONSUME_CPU, CONSUME_LOAD, MEMORY)
    for size, count in COUNTS.items():
        blocks = int(count * scale) // BLOCK
        run = partial(write_and_read, size=size, count=blocks * BLOCK)
        yield Workload(f"{size} B messages", ARENA, figures, run)
    # Last, since it restarts what the others want warm.
    start = (Figure("until it answers", "s", False), Figure("idle memory", "MB", False))
    yield Workload("start with little data", ARENA, start, starting.start)


def write_and_read(system: System, *, size: int, count: int) -> Mapping[str, float]:
    topic = system.new_topic()
    before = system.cpu_seconds()
    written = _produce(system, topic, size, count)
    between = system.cpu_seconds()
    read = _consume(system, topic, count)
    after = system.cpu_seconds()
    memory = system.resident_bytes()
    system.delete_topic(topic)
    return {
        PRODUCE.name: written.rate,
        PRODUCE_CPU.name: (between - before) / count * 1e6,
        PRODUCE_LOAD.name: written.cpu / written.seconds,
        CONSUME.name: read.rate,
        CONSUME_CPU.name: (after - between) / count * 1e6,
        CONSUME_LOAD.name: read.cpu / read.seconds,
        MEMORY.name: memory / 1e6,
    }


def _produce(system: System, topic: str, size: int, count: int) -> Run:
    if isinstance(system, Rival):
        return system.produce(topic, size, count)
    return generator.produce(system.servers, topic, 1, size, count, settings={"acks": "1"})


def _consume(system: System, topic: str, count: int) -> Run:
    if isinstance(system, Rival):
        return system.consume(topic, count)
    return generator.consume(system.servers, topic, 1, count, settings=EAGER)
