"""Ten thousand clients that say nothing, and a hundred that do."""

import os
import resource
import socket
from collections.abc import Iterator, Mapping
from functools import partial

from rig.frames import api_versions_frame, batch_of, produce_frame
from rig.load import Load, answer_size, connect, in_own_process, pipeline

from versus.figures import Figure
from versus.systems import System
from versus.workload import Arena, Workload

IDLE, ACTIVE = 10_000, 100
REQUESTS = 20_000


def workloads(scale: float) -> Iterator[Workload]:
    figures = (
        Figure("memory of all connections", "MB", False),
        Figure("rate of the active ones", "requests/s", True, 1.0),
    )
    run = partial(crowd, idle=int(IDLE * min(1.0, scale * 2)), requests=int(REQUESTS * scale))
    yield Workload(f"{ACTIVE} active among 10,000 idle connections", Arena(), figures, run)


def crowd(system: System, *, idle: int, requests: int) -> Mapping[str, float]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    topic = system.new_topic()
    before = system.resident_bytes()
    sockets = [connect(system.address) for _ in range(idle)]
    try:
        for sock in sockets:
            sock.sendall(api_versions_frame())
        for sock in sockets:
            sock.recv(65536)
        used = system.resident_bytes() - before
        request = produce_frame(topic, batch_of(1024))
        answer = answer_size(system.address, request)
        seconds = in_own_process(pipeline, system.address, Load(request, requests, answer, ACTIVE, 1))
    finally:
        _close(sockets)
    system.delete_topic(topic)
    return {"memory of all connections": used / 1e6, "rate of the active ones": requests / seconds}


def _close(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        os.close(sock.detach())
