"""HTTP requests at a fixed rate, from a process of its own: how long each takes from the moment it is due.

A request that has to wait for a connection counts from its due time, so a server that falls behind is not
spared (no coordinated omission).
"""

import asyncio
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

_fork = multiprocessing.get_context("fork")
TICK_SECONDS = 0.0005


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n".encode()


def post(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class HttpLoad(NamedTuple):
    """`requests` by turns, `rate` a second; with rate 0 the next one as soon as a connection is free."""

    requests: Sequence[bytes]
    rate: float
    seconds: float
    connections: int
    cores: tuple[int, ...] = ()


class Paced(NamedTuple):
    milliseconds: list[float]
    """Of each answer, sorted."""
    refused: int
    """Answers other than 200."""
    cpu: float
    """Share of a core that the generator itself took."""

    def at(self, share: float) -> float:
        return self.milliseconds[int(len(self.milliseconds) * share)]


class HttpLoadProcess:
    """Runs a load beside what the `with` block does; `result()` waits for its end."""

    def __init__(self, port: int, load: HttpLoad) -> None:
        self._mine, theirs = _fork.Pipe(duplex=False)
        self._process = _fork.Process(target=_work, args=(theirs, port, load), daemon=True)
        self._process.start()
        theirs.close()

    def result(self) -> Paced:
        try:
            found = self._mine.recv()
        finally:
            self._process.join()
        if isinstance(found, str):
            raise RuntimeError(found)
        return Paced(*found)


def paced(port: int, load: HttpLoad) -> Paced:
    return HttpLoadProcess(port, load).result()


def _work(pipe: "multiprocessing.connection.Connection", port: int, load: HttpLoad) -> None:
    if load.cores:
        os.sched_setaffinity(0, load.cores)
    try:
        pipe.send(tuple(asyncio.run(_Generator(load).run(port))))
    except Exception as error:
        pipe.send(repr(error))


class _Generator:
    def __init__(self, load: HttpLoad) -> None:
        self._load = load
        self._free: deque[_Connection] = deque()
        self._due: deque[tuple[float, bytes]] = deque()
        self._took: list[float] = []
        self._refused = 0
        self._sent = 0
        self._ends = 0.0
        self._idle = asyncio.Event()

    async def run(self, port: int) -> Paced:
        loop = asyncio.get_running_loop()
        load = self._load
        began_cpu = time.process_time()
        for _ in range(load.connections):
            _, connection = await loop.create_connection(lambda: _Connection(self), "127.0.0.1", port)
            self._free.append(connection)
        began = time.perf_counter()
        self._ends = began + load.seconds
        while (now := time.perf_counter()) < self._ends:
            if load.rate:
                while began + self._sent / load.rate <= now:
                    self._due.append((began + self._sent / load.rate, self._next()))
            else:
                while len(self._due) < len(self._free):
                    self._due.append((now, self._next()))
            self._dispatch()
            await asyncio.sleep(TICK_SECONDS)
        if len(self._free) < load.connections:
            self._idle.clear()
            await asyncio.wait_for(self._idle.wait(), 60)
        cpu = (time.process_time() - began_cpu) / load.seconds
        return Paced(sorted(self._took), self._refused, cpu)

    def _next(self) -> bytes:
        self._sent += 1
        return self._load.requests[self._sent % len(self._load.requests)]

    def _dispatch(self) -> None:
        while self._due and self._free:
            self._free.popleft().send(*self._due.popleft())

    def answered(self, connection: "_Connection", due: float, status: bytes) -> None:
        self._took.append((time.perf_counter() - due) * 1000)
        self._refused += status != b"200"
        self._free.append(connection)
        if time.perf_counter() < self._ends:
            self._dispatch()
        elif len(self._free) == self._load.connections:
            self._idle.set()


class _Connection(asyncio.Protocol):
    def __init__(self, generator: _Generator) -> None:
        self._generator = generator
        self._data = b""
        self._due = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def send(self, due: float, request: bytes) -> None:
        self._due = due
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, found, body = self._data.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) >= length:
            self._data = b""
            self._generator.answered(self, self._due, head[9:12])
