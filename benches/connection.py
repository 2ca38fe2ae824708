"""What a connection costs: CPU per request through the server, against bare system calls.

    python -m benches.connection [--loop asyncio|uvloop] [--quick]

A child process plays the client. The dispatcher answers at once with a few bytes, so what is measured
is the server alone: receive, cut frames, queue answers, send.
"""

import argparse
import asyncio
import multiprocessing
import os
import resource
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from tidelog.base.disk import PosixDisk
from tidelog.base.listener import Listener
from tidelog.base.ports import File, FileSlice
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.reply import Reply
from tidelog.server.connection.limits import ConnectionLimits
from tidelog.server.connection.shared_state import RequestDispatcher
from tidelog.server.server import Server

KIB = 1024
MIB = 1024 * KIB
ANSWER = struct.pack(">i", 20) + bytes(20)


class SmallAnswers:
    def dispatch(self, frame: memoryview, connection: ClientConnection) -> Reply:
        return Reply([ANSWER])

    def accepted(self, connection: ClientConnection) -> None:
        """No client needs to authenticate."""

    def certificate_refused(self, connection: ClientConnection, reason: str) -> None:
        """Nothing is recorded."""

    def may_overlap(self, frame: memoryview) -> bool:
        return True


class SliceAnswers:
    """Answers with a header and slices of a file, as a fetch does."""

    def __init__(self, file: File, slices: int, slice_bytes: int) -> None:
        self._head = struct.pack(">i", slices * slice_bytes)
        self._slices = [FileSlice(file, index * slice_bytes, slice_bytes) for index in range(slices)]

    def dispatch(self, frame: memoryview, connection: ClientConnection) -> Reply:
        return Reply([self._head, *self._slices])

    def accepted(self, connection: ClientConnection) -> None:
        """No client needs to authenticate."""

    def certificate_refused(self, connection: ClientConnection, reason: str) -> None:
        """Nothing is recorded."""

    def may_overlap(self, frame: memoryview) -> bool:
        return True


class Work(NamedTuple):
    """What the client does: `count` requests, up to `window` of them under way."""

    request: bytes
    count: int
    answer_bytes: int
    window: int


def send_requests(port: int, work: Work) -> None:
    """The client: sends as far as the window allows and reads every answer."""
    request, count, answer_bytes, window = work
    sock = socket.create_connection(("127.0.0.1", port))
    slots = threading.Semaphore(window)
    per_send = max(1, min(window // 2, 256 * KIB // len(request)))

    def read() -> None:
        room = bytearray(MIB)
        owed, got = count * answer_bytes, 0
        while owed:
            size = sock.recv_into(room, min(owed, MIB))
            owed -= size
            got += size
            while got >= answer_bytes:
                got -= answer_bytes
                slots.release()

    reader = threading.Thread(target=read)
    reader.start()
    left = count
    while left:
        now = min(per_send, left)
        for _ in range(now):
            slots.acquire()
        sock.sendall(request * now)
        left -= now
    reader.join()
    sock.close()


def run_client(port: int, work: Work) -> BaseProcess:
    client = multiprocessing.get_context("fork").Process(target=send_requests, args=(port, work))
    client.start()
    return client


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def new_loop(name: str) -> asyncio.AbstractEventLoop:
    if name == "uvloop":
        import uvloop

        return uvloop.new_event_loop()
    return asyncio.new_event_loop()


def through_server(loop_name: str, dispatcher: RequestDispatcher, work: Work) -> tuple[float, float]:
    """(CPU seconds of the server, wall seconds)."""

    async def main() -> tuple[float, float]:
        server = Server(dispatcher, ConnectionLimits())
        server.start([Listener("PLAINTEXT", "127.0.0.1", 0)])
        client = run_client(server.addresses[0].port, work)
        cpu, wall = cpu_seconds(), time.perf_counter()
        await asyncio.to_thread(client.join)
        result = cpu_seconds() - cpu, time.perf_counter() - wall
        server.close()
        return result

    loop = new_loop(loop_name)
    try:
        return loop.run_until_complete(main())
    finally:
        loop.close()


def bare(serve: Callable[[socket.socket], None], work: Work) -> tuple[float, float]:
    """The same client against a blocking loop of system calls."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = run_client(listening.getsockname()[1], work)
        sock, _ = listening.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with sock:
            cpu, wall = cpu_seconds(), time.perf_counter()
            serve(sock)
            result = cpu_seconds() - cpu, time.perf_counter() - wall
        client.join()
    return result


def receive_only(work: Work) -> Callable[[socket.socket], None]:
    size = len(work.request)

    def serve(sock: socket.socket) -> None:
        room = memoryview(bytearray(size))
        for _ in range(work.count):
            got = 0
            while got < size:
                got += sock.recv_into(room[got:])
            sock.send(ANSWER)

    return serve


def sendfile_only(work: Work, fd: int, slices: int, slice_bytes: int) -> Callable[[socket.socket], None]:
    head = struct.pack(">i", slices * slice_bytes)

    def serve(sock: socket.socket) -> None:
        for _ in range(work.count):
            sock.recv(len(work.request), socket.MSG_WAITALL)
            sock.send(head, socket.MSG_MORE)
            for index in range(slices):
                position, end = index * slice_bytes, (index + 1) * slice_bytes
                while position < end:
                    position += os.sendfile(sock.fileno(), fd, position, end - position)

    return serve


def compare(
    name: str,
    bytes_each: int,
    loops: list[str],
    *,
    dispatcher: RequestDispatcher,
    work: Work,
    serve: Callable[[socket.socket], None],
) -> None:
    measured = {"bare system calls": bare(serve, work)}
    measured |= {loop: through_server(loop, dispatcher, work) for loop in loops}
    print(name)
    for way, (cpu, wall) in measured.items():
        each, rate = 1e6 / work.count, work.count * bytes_each / wall / 1e6
        print(f"    {way:18} {cpu * each:9.2f} us CPU {wall * each:9.2f} us wall {rate:7.0f} MB/s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--loop", choices=("asyncio", "uvloop"), action="append")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    loops = options.loop or ["asyncio", "uvloop"]
    scale = 10 if options.quick else 1

    for name, size, requests, window in (
        ("100 B requests, pipelined", 100, 300_000, 1000),
        ("100 B requests, one at a time", 100, 30_000, 1),
        ("16 KiB requests, pipelined", 16 * KIB + 120, 100_000, 32),
        ("1 MiB requests, pipelined", MIB + 120, 3_000, 5),
    ):
        work = Work(struct.pack(">i", size) + bytes(size), requests // scale, len(ANSWER), window)
        compare(name, size, loops, dispatcher=SmallAnswers(), work=work, serve=receive_only(work))

    with tempfile.NamedTemporaryFile() as temporary:
        temporary.write(os.urandom(4 * MIB))
        temporary.flush()
        file = PosixDisk().open(temporary.name)
        for slices, each, requests in (
            (1, MIB, 3_000),
            (1, 16 * KIB, 30_000),
            (10, 64 * KIB, 3_000),
            (50, 4 * KIB, 5_000),
        ):
            work = Work(struct.pack(">i", 100) + bytes(100), requests // scale, slices * each + 4, 2)
            name = f"fetch {slices} x {each // KIB} KiB"
            serve = sendfile_only(work, file.fileno(), slices, each)
            dispatcher = SliceAnswers(file, slices, each)
            compare(name, slices * each, loops, dispatcher=dispatcher, work=work, serve=serve)


if __name__ == "__main__":
    main()
