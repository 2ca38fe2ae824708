"""The least a broker could do, as yardsticks: bare loops of system calls in a process of their own."""

import multiprocessing
import os
import socket
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benches.rig.broker_process import work_folder

_fork = multiprocessing.get_context("fork")


@contextmanager
def serving(serve: Callable[[socket.socket], None]) -> Iterator[tuple[str, int]]:
    """Every connection, one after the other, goes to `serve` in a process of its own."""
    listening = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        while True:
            sock, _ = listening.accept()
            with sock:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                serve(sock)

    process = _fork.Process(target=run, daemon=True)
    process.start()
    try:
        yield listening.getsockname()
    finally:
        process.kill()
        process.join()
        listening.close()


def receive_and_write(answer: bytes) -> Callable[[socket.socket], None]:
    """recv a frame into a buffer that is used again, pwrite it to a fresh file, answer."""

    def serve(sock: socket.socket) -> None:
        room = memoryview(bytearray(4 << 20))
        size = bytearray(4)
        position = 0
        with tempfile.NamedTemporaryFile(dir=work_folder()) as file:
            while sock.recv_into(size, 4, socket.MSG_WAITALL):
                wanted, got = struct.unpack(">i", size)[0], 0
                while got < wanted:
                    got += sock.recv_into(room[got:wanted])
                position += os.pwrite(file.fileno(), room[:wanted], position)
                sock.sendall(answer)

    return serve


def send_file(
    path: str, ranges: list[tuple[int, int]], request_bytes: int
) -> Callable[[socket.socket], None]:
    """For each request of a fixed size, sendfile the next of `ranges` (position, length)."""

    def serve(sock: socket.socket) -> None:
        with open(path, "rb") as file:
            for start, length in ranges:
                sock.recv(request_bytes, socket.MSG_WAITALL)
                position, stop = start, start + length
                while position < stop:
                    position += os.sendfile(sock.fileno(), file.fileno(), position, stop - position)

    return serve
