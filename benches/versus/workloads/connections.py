"""Ten thousand clients that say nothing, and a hundred that do."""

import os
import resource
import socket
from collections.abc import Iterator, Mapping
from functools import partial

from benches.rig.frames import api_versions_frame, batch_of, produce_frame
from benches.rig.load import Load, answer_size, connect, replay
from benches.versus.figures import Figure
from benches.versus.systems import System
from benches.versus.workload import Arena, Workload

IDLE, ACTIVE = 10_000, 100
REQUESTS = 60_000


def workloads(scale: float) -> Iterator[Workload]:
    figures = (
        Figure("broker's memory with all connections", "MB", False, 1 / 6),
        Figure("rate of the active ones", "requests/s", True, 1.0),
        Figure("broker CPU", "us/request", False),
        Figure("generator's CPU", "us/request", False),
    )
    run = partial(crowd, idle=int(IDLE * min(1.0, scale * 2)), requests=int(REQUESTS * scale))
    for compiled in (False, True):
        # Brokers of their own: memory that other work has left behind would hide what connections take.
        arena = Arena(compiled=compiled, purpose="connections")
        yield Workload(f"{ACTIVE} active among 10,000 idle connections", arena, figures, run)


def crowd(system: System, *, idle: int, requests: int) -> Mapping[str, float]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    topic = system.new_topic()
    sockets: list[socket.socket] = []
    try:
        for _ in range(idle):
            sockets.append(connect(system.address))
            # Answered before the next one comes: a queue of newcomers that overflows costs a second each.
            sockets[-1].sendall(api_versions_frame())
            sockets[-1].recv(65536)
        memory = system.resident_bytes()
        request = produce_frame(topic, batch_of(1024))
        answer = answer_size(system.address, request)
        load = Load(request, requests, answer, ACTIVE, 1)
        replay(system.address, load)  # these brokers are young: a JVM compiles first
        before = system.cpu_seconds()
        run = replay(system.address, load)
        cpu = system.cpu_seconds() - before
    finally:
        _close(sockets)
    system.delete_topic(topic)
    return {
        "broker's memory with all connections": memory / 1e6,
        "rate of the active ones": run.rate,
        "broker CPU": cpu / run.requests * 1e6,
        "generator's CPU": run.cpu / run.requests * 1e6,
    }


def _close(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        os.close(sock.detach())
