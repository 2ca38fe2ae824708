"""Load generators, each in its own process: they send prebuilt frames and count answers by their size."""

import multiprocessing
import selectors
import socket
import struct
import time
from collections.abc import Callable
from typing import Any, NamedTuple

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
    """The same request many times over several connections, each with up to `window` unanswered."""

    request: bytes
    count: int
    answer_bytes: int
    connections: int
    window: int


def pipeline(address: tuple[str, int], load: Load) -> float:
    """Seconds from the first request to the last answer."""
    flows = [_Flow(connect(address), load) for _ in range(load.connections)]
    began = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        for flow in flows:
            flow.sock.setblocking(False)
            selector.register(flow.sock, selectors.EVENT_READ | selectors.EVENT_WRITE, flow)
        left = load.connections
        while left:
            for key, ready in selector.select():
                flow = key.data
                if ready & selectors.EVENT_READ:
                    flow.read()
                if ready & selectors.EVENT_WRITE or flow.may_send:
                    flow.write()
                if flow.done:
                    selector.unregister(flow.sock)
                    left -= 1
                elif bool(key.events & selectors.EVENT_WRITE) != flow.may_send:
                    wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if flow.may_send else 0)
                    selector.modify(flow.sock, wanted, flow)
    seconds = time.perf_counter() - began
    for flow in flows:
        flow.sock.close()
    return seconds


class _Flow:
    """One connection: bytes sent and received say how many requests are under way."""

    def __init__(self, sock: socket.socket, load: Load) -> None:
        request, count = load.request, load.count // load.connections
        self.sock = sock
        self._request_size = len(request)
        self._bytes_total = count * len(request)
        self._window_bytes = load.window * len(request)
        self._answer = load.answer_bytes
        self._answers_total = count * load.answer_bytes
        self._sent = self._received = 0
        # A run of requests, long enough that a send never stops at its end for want of bytes.
        repeats = max(2, MIB // len(request) + 1)
        self._run = memoryview(request * repeats)
        self._room = bytearray(64 * 1024)

    @property
    def _allowed(self) -> int:
        answered = self._received // self._answer * self._request_size
        return min(self._bytes_total, answered + self._window_bytes)

    @property
    def may_send(self) -> bool:
        return self._sent < self._allowed

    @property
    def done(self) -> bool:
        return self._received == self._answers_total

    def read(self) -> None:
        got = self.sock.recv_into(self._room)
        if not got:
            raise ConnectionError("the server closed the connection")
        self._received += got

    def write(self) -> None:
        at = self._sent % self._request_size
        stop = min(len(self._run), at + self._allowed - self._sent)
        try:
            self._sent += self.sock.send(self._run[at:stop])
        except BlockingIOError:
            return


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
