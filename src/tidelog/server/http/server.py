"""An HTTP port: it accepts within its limits, and lets uvicorn speak HTTP with plain ASGI apps.

It runs on the broker's own loop, so that an app reads the broker's state without a lock. Its connections are
its own: whatever clients do here, the Kafka port has its descriptors, its memory and its turns.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterable
from socket import socket

from tidelog.base.listener import Listener
from tidelog.server.connection.limits import ConnectionLimits
from tidelog.server.http.asgi import App
from tidelog.server.http.connection import HttpConnection
from tidelog.server.http.limits import HttpLimits
from tidelog.server.http.protocol import HttpProtocols
from tidelog.server.listener import ListeningSocket
from tidelog.server.log_gate import LogGate

log = logging.getLogger("tidelog.http")


class HttpServer:
    """`HttpServer(...)` takes its port; `begin()` serves it, `await close()` ends it."""

    def __init__(
        self,
        address: Listener,
        app: App,
        limits: HttpLimits | None = None,
        tls: Callable[[], ssl.SSLContext] | None = None,
        load: Callable[[], object] = lambda: None,
    ) -> None:
        """`tls` returns the context for the next connection. `load` imports what the app needs, beside the
        loop, together with uvicorn. Raises ListenError."""
        self.limits = limits or HttpLimits()
        self._app = app
        self._tls = tls
        self._load = load
        self._loop = asyncio.get_running_loop()
        self._gate = LogGate(log)
        backlog = ConnectionLimits(backlog=self.limits.connections_max)
        self._listening = ListeningSocket(self._loop, address, backlog)
        self._connections: set[HttpConnection] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self._protocols: HttpProtocols | None = None
        self._opening: asyncio.Task[None] | None = None
        self._early: list[tuple[socket, str, int]] = []
        """The first clients, while uvicorn is loaded for them."""
        self.refused = 0
        """Connections beyond the limit."""

    @property
    def address(self) -> Listener:
        """With the port that the kernel chose."""
        return self._listening.address

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def begin(self) -> None:
        """Accept as soon as uvicorn is loaded, on a thread: that takes longer than a turn of the loop may."""
        self._opening = self._loop.create_task(self._open(), name="HTTP port")
        self._opening.add_done_callback(self._opened)

    def begin_when_asked(self) -> None:
        """Accept now, and load uvicorn with the first client: a port that no client uses costs a socket.

        Raises ListenError.
        """
        self._listening.start(self._accepted_first, self._complain)

    async def ready(self) -> None:
        """Returns once it accepts. Raises ListenError."""
        if self._opening is not None:
            await self._opening

    async def _open(self) -> None:
        self._protocols = await asyncio.to_thread(self._made)
        self._listening.start(self._accepted, self._complain)
        early, self._early = self._early, []
        for sock, host, port in early:
            self._accepted(sock, host, port)

    def _made(self) -> HttpProtocols:
        self._load()
        return HttpProtocols(self._app, self.limits, log)

    def _opened(self, opening: "asyncio.Task[None]") -> None:
        error = None if opening.cancelled() else opening.exception()
        if error is not None:
            log.error("port %d cannot be served: %s", self.address.port, error)

    async def close(self) -> None:
        """Answer the requests under way, within a moment, and end."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        self.abort(answers=False)
        waiting = self._loop.time() + self.limits.close_seconds
        while self._connections and self._loop.time() < waiting:  # noqa: ASYNC110 - rare, short, and simple
            await asyncio.sleep(0.01)
        self.abort()
        await asyncio.gather(*self._starting, return_exceptions=True)

    def abort(self, *, answers: bool = True) -> None:
        """End everything now; without `answers`, all but the requests under way."""
        self._listening.close()
        for sock, _, _ in self._early:
            sock.close()
        self._early.clear()
        for connection in list(self._connections):
            if answers or not connection.is_answering:
                connection.abort()
        if answers and self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        if answers:
            for task in self._starting:
                task.cancel()

    # What connections call.

    def failed(self, connection: HttpConnection, what: str) -> None:
        message = f"{connection.client} on port {self.address.port} {what}; closing"
        self._gate.write("HTTP", self._loop.time(), logging.INFO, message)

    def ended(self, connection: HttpConnection) -> None:
        self._connections.discard(connection)

    # What the listening socket calls.

    def _accepted_first(self, sock: socket, host: str, port: int) -> float:
        if self._protocols is not None:
            return self._accepted(sock, host, port)
        if self._opening is None:
            self.begin()
        elif self._opening.done():  # uvicorn could not be loaded, and the log says why
            sock.close()
            return self.limits.full_pause_seconds
        self._early.append((sock, host, port))
        return self.limits.full_pause_seconds  # the others wait in the kernel's queue

    def _accepted(self, sock: socket, host: str, port: int) -> float:
        assert self._protocols is not None
        same_host = [connection for connection in self._connections if connection.host == host]
        for served, most in (
            (same_host, self.limits.connections_per_host_max),
            (self._connections, self.limits.connections_max),
        ):
            if len(served) >= most and not self._make_room(served):
                sock.close()
                self.refused += 1
                what = f"{host}:{port} refused on port {self.address.port}: it serves {len(same_host)} "
                what += f"connections of this host and {len(self._connections)} in all"
                self._gate.write("full", self._loop.time(), logging.WARNING, what)
                return self.limits.full_pause_seconds if served is self._connections else 0.0
        connection = HttpConnection(self, (host, port), self._loop.time, self._protocols.speak)
        self._connections.add(connection)
        task = self._loop.create_task(self._start(connection, sock), name="HTTP connection")
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)
        if self._sweeping is None:
            self._sweeping = self._loop.call_later(self.limits.sweep_seconds, self._sweep)
        return 0.0

    async def _start(self, connection: HttpConnection, sock: socket) -> None:
        context = None if self._tls is None else self._tls()
        seconds = None if context is None else self.limits.head_seconds
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection, sock, ssl=context, ssl_handshake_timeout=seconds
            )
        except (OSError, ssl.SSLError) as error:
            self.failed(connection, f"did not become a connection: {error}")
            self.ended(connection)
            sock.close()
        except BaseException:
            self.ended(connection)
            sock.close()
            raise

    def _make_room(self, served: Iterable[HttpConnection]) -> bool:
        """A client that comes with a request goes before a connection that waits for its next one."""
        idle = [connection for connection in served if connection.is_idle]
        if not idle:
            return False
        longest = min(idle, key=lambda connection: connection.idle_since)
        longest.abort()
        self._connections.discard(longest)
        return True

    def _complain(self, error: OSError) -> None:
        message = f"cannot accept on {self.address}: {error.strerror}; trying again shortly"
        self._gate.write("accept", self._loop.time(), logging.WARNING, message)

    def _sweep(self) -> None:
        now = self._loop.time()
        for connection in list(self._connections):
            connection.sweep(now)
        self._gate.tick(now)
        if self._connections:
            self._sweeping = self._loop.call_later(self.limits.sweep_seconds, self._sweep)
        else:
            self._sweeping = None
