"""Requests as prebuilt frames, so that next to nothing but the broker works: one record, 16 KiB, 900 KB."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from benches.rig.bare import receive_and_write, serving
from benches.rig.frames import batch_of, produce_frame
from benches.rig.load import Load, answer_size, replay
from benches.versus.figures import Figure
from benches.versus.systems import System
from benches.versus.workload import Arena, Workload

ONE_RECORD = 200
LARGE = 900_000
GENERATOR = Figure("generator's CPU", "us/request", False)


class Requests(NamedTuple):
    size: int
    count: int
    connections: int
    window: int
    partitions: int = 1


def workloads(scale: float) -> Iterator[Workload]:
    yield from _workloads(scale, Arena())
    yield from _workloads(scale, Arena(compiled=True))


def _workloads(scale: float, arena: Arena) -> Iterator[Workload]:
    for connections, window in ((1, 1), (1, 5), (50, 1)):
        yield _workload(
            f"one-record requests, {connections} connections, {window} in flight",
            Requests(ONE_RECORD, int(40_000 * scale), connections, window),
            Figure("broker CPU", "us/request", False, 0.7),
            arena,
        )
    for connections, window in ((1, 5), (4, 5)):
        yield _workload(
            f"16 KiB requests, {connections} connections, {window} in flight",
            Requests(16 * 1024, int(12_000 * scale), connections, window),
            Figure("broker CPU", "us/request", False, 0.3),
            arena,
        )
    yield _workload(
        "900 KB requests, 1 connection, 5 in flight",
        Requests(LARGE, int(600 * scale), 1, 5),
        Figure("broker CPU", "us/request", False, 0.5),
        arena,
    )
    yield _workload(
        "900 KB requests to 8 partitions, 8 connections, 5 in flight",
        Requests(LARGE, int(600 * scale), 8, 5, partitions=8),
        Figure("broker CPU", "us/request", False, 0.5),
        arena,
    )


def _workload(name: str, load: Requests, cpu: Figure, arena: Arena) -> Workload:
    goal = 1.0 if load.connections * load.window == 1 else 1.3 if load.size == ONE_RECORD else 1.5
    # The bare loop serves one connection after the other.
    bare = partial(bare_replay, load=load) if load.connections == 1 else None
    share = 0.5 if bare is not None and load.size == LARGE else None
    rate = Figure("rate", "requests/s", True, goal, share)
    return Workload(name, arena, (rate, cpu, GENERATOR), partial(send, load=load), bare)


def bare_replay(load: Requests) -> Mapping[str, float]:
    """A loop of recv and pwrite."""
    request = produce_frame("bench", batch_of(load.size))
    with serving(receive_and_write(bytes(64))) as address:
        return {"rate": replay(address, Load(request, load.count, 64, load.connections, load.window)).rate}


def send(system: System, load: Requests) -> Mapping[str, float]:
    topic = system.new_topic(load.partitions)
    batch = batch_of(load.size)
    requests = [produce_frame(topic, batch, partition=number) for number in range(load.partitions)]
    sizes = {answer_size(system.address, request) for request in requests}
    if len(sizes) > 1:
        raise RuntimeError(f"{system.name} answered the same request with {sorted(sizes)} bytes")
    repeated = Load(
        b"".join(requests), load.count, sizes.pop(), load.connections, load.window, kinds=load.partitions
    )
    before = system.cpu_seconds()
    run = replay(system.address, repeated)
    cpu = system.cpu_seconds() - before
    system.delete_topic(topic)
    return {
        "rate": run.rate,
        "broker CPU": cpu / run.requests * 1e6,
        "generator's CPU": run.cpu / run.requests * 1e6,
    }
