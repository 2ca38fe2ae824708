"""Load generators, each in its own process: they send prebuilt frames and count answers by their size.

`replay` is for many small requests and written in C (replay.c): what it needs for one must be little beside
what the broker needs, or it is the generator that is measured.
"""

import json
import multiprocessing
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benches.rig.compiled import compiled

MIB = 1 << 20
_fork = multiprocessing.get_context("fork")


def in_own_process(work: Callable[..., float], *arguments: Any) -> float:
    """The seconds that `work` reports, from a process that does nothing else."""
    mine, theirs = _fork.Pipe(duplex=False)
    process = _fork.Process(target=lambda: theirs.send(work(*arguments)))
    process.start()
    theirs.close()
    try:
        return float(mine.recv())
    finally:
        process.join()


def connect(address: tuple[str, int]) -> socket.socket:
    sock = socket.create_connection(address)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def answer_size(address: tuple[str, int], request: bytes) -> int:
    """How many bytes the answer to a request has, its size field included."""
    with connect(address) as sock:
        sock.sendall(request)
        (size,) = struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))
        left = size
        while left:
            left -= len(sock.recv(min(left, MIB)))
        return int(size) + 4


class Load(NamedTuple):
    """The same requests many times over several connections, each with up to `window` unanswered."""

    request: bytes
    count: int
    answer_bytes: int
    connections: int
    window: int
    kinds: int = 1
    """So many requests of the same size are in `request`, and sent in turn."""


class Replayed(NamedTuple):
    requests: int
    seconds: float
    """From the first request to the last answer."""
    cpu: float
    """Seconds of the generator itself."""
    p50_ms: float
    p99_ms: float
    """From a request that is sent to its answer."""

    @property
    def rate(self) -> float:
        return self.requests / self.seconds


def replay(address: tuple[str, int], load: Load) -> Replayed:
    host, port = socket.getaddrinfo(*address, socket.AF_INET, socket.SOCK_STREAM)[0][4]
    numbers = (port, load.connections, load.window, load.count, load.answer_bytes, load.kinds)
    program = compiled(Path(__file__).with_name("replay.c"))
    run = subprocess.run(
        [program, str(host), *map(str, numbers)], input=load.request, capture_output=True, check=False
    )
    if run.returncode:
        raise RuntimeError(run.stderr.decode().strip())
    return Replayed(**json.loads(run.stdout))


def read_answers(
    address: tuple[str, int], requests: list[bytes], answers: list[int], window: int, copies: bool
) -> float:
    """Ask each of `requests` in turn and discard its answer, of known size; seconds taken.

    Without `copies` the kernel discards the bytes (MSG_TRUNC), so that the server is the limit.
    """
    flags = 0 if copies else socket.MSG_TRUNC
    room = bytearray(MIB)
    with connect(address) as sock:
        began = time.perf_counter()
        for request in requests[:window]:
            sock.sendall(request)
        for number, size in enumerate(answers):
            left = size
            while left:
                got = sock.recv_into(room, min(left, MIB), flags)
                if not got:
                    raise ConnectionError("the server closed the connection")
                left -= got
            if number + window < len(requests):
                sock.sendall(requests[number + window])
        return time.perf_counter() - began
