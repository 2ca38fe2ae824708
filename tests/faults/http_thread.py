"""An HTTP port on a thread with its own loop, with the limits that a test gives it."""

import asyncio
import socket
import threading
from types import TracebackType

from tidelog.base.listener import Listener
from tidelog.server.event_loop import loop_factory
from tidelog.server.http.asgi import Receive, Scope, Send, answer, say
from tidelog.server.http.limits import HttpLimits
from tidelog.server.http.server import HttpServer

DEADLINE_S = 20.0
LARGE_BYTES = 8 * 1024 * 1024


running: list[Scope] = []
"""Requests to `/slow` under way."""


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["path"] == "/large":
        await answer(send, 200, bytes(LARGE_BYTES), "text/plain")
    elif scope["path"] == "/slow":
        running.append(scope)
        try:
            await asyncio.sleep(DEADLINE_S)
        finally:
            running.remove(scope)
    elif scope["path"] == "/broken":
        raise RuntimeError("on purpose")
    else:
        await say(send, 200, "Hello.")


class HttpThread:
    def __init__(self, loop: str, limits: HttpLimits, *, lazily: bool = False) -> None:
        """`lazily`: uvicorn is loaded with the first client."""
        self._lazily = lazily
        self._loop = loop_factory(loop)()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._limits = limits
        self.server: HttpServer

    def __enter__(self) -> "HttpThread":
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(DEADLINE_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self.server.close(), self._loop).result(DEADLINE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_S)
        self._loop.close()

    async def _open(self) -> None:
        self.server = HttpServer(Listener("HTTP", "127.0.0.1", 0), app, self._limits)
        if self._lazily:
            self.server.begin_when_asked()
        else:
            self.server.begin()
        await self.server.ready()

    def connect(self, host: str = "127.0.0.1") -> socket.socket:
        """`host` is the client's."""
        address = ("127.0.0.1", self.server.address.port)
        return socket.create_connection(address, timeout=DEADLINE_S, source_address=(host, 0))

    def ask(self, data: bytes = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") -> bytes:
        """Everything that comes back until the port closes the connection."""
        with self.connect() as sock:
            try:
                sock.sendall(data)
                return everything(sock)
            except (BrokenPipeError, ConnectionResetError):
                return b""


def everything(sock: socket.socket) -> bytes:
    received = b""
    try:
        while data := sock.recv(1 << 20):
            received += data
    except ConnectionResetError:
        pass
    return received
