"""A server with a stand-in dispatcher, on a thread and a loop of its own; and what its clients do.

The first byte of a request says what becomes of it.
"""

import asyncio
import concurrent.futures
import contextlib
import random
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tidelog.base.disk import PosixDisk
from tidelog.base.errors import ProtocolError
from tidelog.base.listener import Listener
from tidelog.base.ports import FileSlice
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.reply import Reply
from tidelog.security.tls.authority import Authority
from tidelog.security.tls.contexts import TlsSettings, client_context
from tidelog.security.tls.material import StoreSettings
from tidelog.server.connection.limits import MIB, ConnectionLimits
from tidelog.server.server import Server
from tidelog.server.tls.tls_listener import TlsListener

LOOPS = ["asyncio", "uvloop"]
TLS_LOOPS = ["asyncio", "uvloop", "asyncio tls", "uvloop tls"]
DEADLINE = 10.0


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


class Certificates(NamedTuple):
    authority: Authority
    server: TlsSettings
    client: TlsSettings


@cache
def certificates() -> Certificates:
    now = datetime.now(UTC)
    authority = Authority.new("Test CA", now)
    key, chain = authority.issue("broker", now, hosts=["127.0.0.1"])
    keys = StoreSettings("ssl.keystore", key=key.decode(), certificates=chain.decode())
    trust = StoreSettings("ssl.truststore", certificates=authority.pem.certificate.decode())
    return Certificates(
        authority, TlsSettings(keys, trust), TlsSettings(StoreSettings("ssl.keystore"), trust)
    )


class EchoDispatcher:
    """The first byte of a request says what to do with it; the rest comes back."""

    def __init__(self) -> None:
        self.slices: list[FileSlice] = []
        self.seen = 0
        self.waiting: list[asyncio.Future[Reply | None]] = []

    def dispatch(
        self, request: memoryview, connection: ClientConnection
    ) -> Reply | asyncio.Future[Reply | None] | None:
        self.seen += 1
        match request[:1].tobytes():
            case b"e":  # echo now
                return self.echo(request)
            case b"l":  # echo later, in a random order
                loop = asyncio.get_running_loop()
                later: asyncio.Future[Reply | None] = loop.create_future()
                loop.call_later(
                    random.random() / 50, lambda: later.done() or later.set_result(self.echo(request))
                )
                return later
            case b"w":  # wait until told
                waiting: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
                self.waiting.append(waiting)
                return waiting
            case b"n":  # no answer is owed
                return None
            case b"s":  # file slices
                parts = [*self.slices]
                size = sum(map(len, parts))
                return Reply([struct.pack(">i", size), *parts])
            case b"b":  # a big answer
                return Reply([struct.pack(">i", MIB), bytes(MIB)])
            case b"t":
                return Reply([struct.pack(">i", 1), b"t"], throttle_ms=200)
            case b"c":
                return Reply([struct.pack(">i", 1), b"c"], close=True)
            case b"C":
                return Reply([struct.pack(">i", 8 * MIB), bytes(8 * MIB)], close=True)
            case b"x":
                raise ValueError("a bug in a handler")
            case _:
                raise ProtocolError("an unknown request")

    def accepted(self, connection: ClientConnection) -> None:
        """No client needs to authenticate."""

    def certificate_refused(self, connection: ClientConnection, reason: str) -> None:
        """Nothing is recorded."""

    def overlap_group(self, request: memoryview) -> int:
        return 1

    @staticmethod
    def echo(request: memoryview) -> Reply:
        return Reply([struct.pack(">i", len(request)), request])


class Running:
    """A server on its own thread and loop."""

    def __init__(self, loop_name: str, limits: ConnectionLimits, tls: TlsListener | None = None) -> None:
        self.dispatcher = EchoDispatcher()
        loop_name, _, kind = loop_name.partition(" ")
        if tls is None and kind == "tls":
            tls = TlsListener(certificates().server)
        self._client_context = client_context(certificates().client) if tls else None
        self.server = Server(self.dispatcher, limits, {} if tls is None else {"LISTENER": tls})
        if loop_name == "uvloop":
            uvloop = pytest.importorskip("uvloop")
            self.loop = uvloop.new_event_loop()
        else:
            self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve)
        self._started = threading.Event()
        self._thread.start()
        self._started.wait(DEADLINE)
        self.port = self.server.addresses[0].port

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)

        def start() -> None:
            self.server.start([Listener("LISTENER", "127.0.0.1", 0)])
            self._started.set()

        async def main() -> None:
            start()
            self._stop = asyncio.Event()
            await self._stop.wait()
            self.server.close()
            await asyncio.sleep(0)

        self.loop.run_until_complete(main())
        self.loop.close()

    @property
    def is_tls(self) -> bool:
        return self._client_context is not None

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()

    def connect(self, *, plain: bool = False) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE)
        return sock if plain else self.secure(sock)

    def secure(self, sock: socket.socket) -> socket.socket:
        """With a TLS handshake, if that is what the server speaks."""
        if self._client_context is None:
            return sock
        return self._client_context.wrap_socket(sock, server_hostname="127.0.0.1")

    def refuses(self) -> bool:
        """Whether a connection is closed before anything is said on it."""
        with self.connect(plain=True) as sock:
            return is_closed(sock)

    def drain(self, seconds: float) -> "concurrent.futures.Future[int]":
        return asyncio.run_coroutine_threadsafe(self.server.drain(seconds), self.loop)

    def held_bytes(self) -> int:
        """As the server's loop sees it: a thread can look in while a connection is giving its memory back."""
        held = self.ask(lambda: self.server.held_bytes)
        assert isinstance(held, int)
        return held

    def ask(self, request: Callable[[], object]) -> object:
        """Run something on the server's loop and wait for what it returns."""

        async def call() -> object:
            return request()

        return asyncio.run_coroutine_threadsafe(call(), self.loop).result(DEADLINE)


def receive(sock: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        data = sock.recv(min(count, MIB))
        if not data:
            raise EOFError
        parts.append(data)
        count -= len(data)
    return b"".join(parts)


def exchange(sock: socket.socket, sent: bytes, count: int) -> bytes:
    """Send and receive at the same time, on one thread: a TLS session is not made for two."""
    sock.setblocking(False)
    received = bytearray()
    rest = memoryview(sent)
    would_wait = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
    while len(received) < count:
        assert select.select([sock], [sock] if rest else [], [], DEADLINE) != ([], [], []), "nothing moves"
        with contextlib.suppress(*would_wait):
            rest = rest[sock.send(rest[:65536]) :] if rest else rest
        with contextlib.suppress(*would_wait):
            while data := sock.recv(MIB):
                received += data
    sock.settimeout(DEADLINE)
    return bytes(received)


def receive_frame(sock: socket.socket) -> bytes:
    return receive(sock, struct.unpack(">i", receive(sock, 4))[0])


def is_closed(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


def still_answers(running: Running) -> None:
    with running.connect() as sock:
        sock.sendall(frame(b"e, are you there?"))
        assert receive_frame(sock) == b"e, are you there?"


def make_slices(directory: Path, data: bytes, ranges: list[tuple[int, int]]) -> list[FileSlice]:
    path = directory / "slices"
    path.write_bytes(data)
    file = PosixDisk().open(str(path))
    return [FileSlice(file, position, length) for position, length in ranges]


def send_what_fits(sock: socket.socket, data: bytes) -> int:
    """Send until the server stops reading; answers how much it took."""
    sock.settimeout(0.02)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < len(data):
            sent += sock.send(memoryview(data)[sent : sent + 128 * 1024])
    return sent


def check_slices(running: Running, expected: bytes) -> None:
    """The slices arrive whole, twice, each between other answers."""
    with running.connect() as sock:
        sock.sendall(frame(b"e1") + frame(b"s") + frame(b"l2") + frame(b"s"))
        time.sleep(0.05)  # let the socket's buffers fill up
        assert receive_frame(sock) == b"e1"
        assert receive_frame(sock) == expected
        assert receive_frame(sock) == b"l2"
        assert receive_frame(sock) == expected
