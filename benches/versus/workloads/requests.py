"""Requests as prebuilt frames, so that next to nothing but the broker works: one record, 16 KiB, 900 KB."""

from collections.abc import Iterator, Mapping
from functools import partial

from benches.rig.bare import receive_and_write, serving
from benches.rig.frames import batch_of, produce_frame
from benches.rig.load import Load, answer_size, replay
from benches.versus.figures import Figure
from benches.versus.systems import System
from benches.versus.workload import Arena, Workload

ONE_RECORD = 200
LARGE = 900_000
GENERATOR = Figure("generator's CPU", "us/request", False)


def workloads(scale: float) -> Iterator[Workload]:
    for connections, window in ((1, 1), (1, 5), (50, 1)):
        yield _workload(
            f"one-record requests, {connections} connections, {window} in flight",
            (ONE_RECORD, int(40_000 * scale), connections, window),
            Figure("broker CPU", "us/request", False, 0.7),
        )
    for connections, window in ((1, 5), (4, 5)):
        yield _workload(
            f"16 KiB requests, {connections} connections, {window} in flight",
            (16 * 1024, int(12_000 * scale), connections, window),
            Figure("broker CPU", "us/request", False, 0.25),
        )
    yield _workload(
        "900 KB requests, 1 connection, 5 in flight",
        (LARGE, int(600 * scale), 1, 5),
        Figure("broker CPU", "us/request", False, 0.5),
    )


def _workload(name: str, load: tuple[int, int, int, int], cpu: Figure) -> Workload:
    size, _, connections, window = load
    bound_by_broker = connections * window > 1
    rate = Figure("rate", "requests/s", True, 1.5 if bound_by_broker else 1.0, 0.5 if size == LARGE else None)
    # The bare loop serves one connection after the other.
    bare = partial(bare_replay, load=load) if connections == 1 else None
    return Workload(name, Arena(), (rate, cpu, GENERATOR), partial(send, load=load), bare)


def bare_replay(load: tuple[int, int, int, int]) -> Mapping[str, float]:
    """A loop of recv and pwrite."""
    size, count, connections, window = load
    request = produce_frame("bench", batch_of(size))
    with serving(receive_and_write(bytes(64))) as address:
        return {"rate": replay(address, Load(request, count, 64, connections, window)).rate}


def send(system: System, load: tuple[int, int, int, int]) -> Mapping[str, float]:
    size, count, connections, window = load
    topic = system.new_topic()
    request = produce_frame(topic, batch_of(size))
    answer = answer_size(system.address, request)
    before = system.cpu_seconds()
    run = replay(system.address, Load(request, count, answer, connections, window))
    cpu = system.cpu_seconds() - before
    system.delete_topic(topic)
    return {
        "rate": run.rate,
        "broker CPU": cpu / run.requests * 1e6,
        "generator's CPU": run.cpu / run.requests * 1e6,
    }
