"""The server: listeners, the connections they accept, and the one ticker that watches them all."""

import asyncio
import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tidelog.base.listener import Listener
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.server.admission import Admission
from tidelog.server.connection.connection import ServerConnection
from tidelog.server.connection.limits import ConnectionLimits
from tidelog.server.connection.plain_transport import PlainTransport
from tidelog.server.connection.send_times import SendTimes
from tidelog.server.connection.shared_state import RequestDispatcher, SharedState, log
from tidelog.server.connection.writer import SocketWriter
from tidelog.server.counters import Counters
from tidelog.server.listener import SHORTAGE_PAUSE_SECONDS, ListeningSocket
from tidelog.server.open_files import file_limits

if TYPE_CHECKING:  # a broker without TLS does not import it
    from tidelog.server.tls.accepted_clients import TlsClients
    from tidelog.server.tls.tls_listener import TlsListener

LAST_LOOK_SECONDS = 0.01
LEAVING_MAX = 1000
OPEN_FILES = "open_files"
"""Why a connection could not be accepted, beside the limits of `Admission`."""


class Server:
    """Start it on a running loop; end it with `drain` (politely) or `close` (at once)."""

    def __init__(
        self,
        dispatcher: RequestDispatcher,
        limits: ConnectionLimits | None = None,
        tls: "Mapping[str, TlsListener] | None" = None,
    ) -> None:
        """`tls` holds the listeners that speak TLS, by name."""
        self._dispatcher = dispatcher
        self._tls = tls or {}
        self._secured: TlsClients | None = None
        self._limits = limits or ConnectionLimits()
        self._shared: SharedState | None = None
        self._listeners: list[ListeningSocket] = []
        self._admission = Admission()
        self._leaving: dict[socket.socket, asyncio.TimerHandle] = {}  # refused, and closed a little later
        self._last_id = 0
        self._files_max = file_limits().clients
        self._tick: asyncio.TimerHandle | None = None
        self._emptied: asyncio.Event = asyncio.Event()

    @property
    def addresses(self) -> list[Listener]:
        """The addresses it listens on, with the ports that the kernel chose."""
        return [listener.address for listener in self._listeners]

    @property
    def connection_count(self) -> int:
        return len(self._state.connections)

    @property
    def connections_by_listener(self) -> Mapping[str, int]:
        """Those under a TLS handshake included. A listener without a connection has 0."""
        counts = self._admission.by_listener
        return {name: counts.get(name, 0) for name in (at.name for at in self.addresses)}

    @property
    def counters(self) -> Counters:
        return self._state.counters

    @property
    def tls_listeners(self) -> "Mapping[str, TlsListener]":
        """The listeners that speak TLS, by name."""
        return self._tls

    @property
    def held_bytes(self) -> int:
        """Request and response bytes in memory, over all connections."""
        return self._state.budget.held

    @property
    def held_bytes_max(self) -> int:
        return self._state.budget.limit

    def start(self, addresses: Sequence[Listener], *, first: str | None = None) -> None:
        """Listen on all addresses, or on none and raise ListenError.

        With `first`, on the listener of that name alone: the others have their ports, and refuse connections
        until `open`.
        """
        loop = asyncio.get_running_loop()
        listeners: list[ListeningSocket] = []
        state = self._shared = SharedState(loop, self._dispatcher, self._limits, self._connection_ended)
        if self._tls:
            from tidelog.server.tls.accepted_clients import TlsClients

            self._secured = TlsClients(state, self._tls, self._gone)
        try:
            for address in addresses:
                listeners.append(ListeningSocket(loop, address, self._limits))
            for listener in listeners:
                if first in (None, listener.address.name):
                    self._accept_from(listener)
        except BaseException:
            for listener in listeners:
                listener.close()
            raise
        self._listeners = listeners
        self._tick = loop.call_later(self._limits.tick_seconds, self._sweep)

    def open(self) -> None:
        """Listen on all addresses from now on. Raises ListenError if another process has taken one."""
        for listener in self._listeners:
            self._accept_from(listener)

    def change_limits(self, limits: ConnectionLimits) -> None:
        """Apply the limits to new and open connections; the memory cap stays as it was at the start."""
        self._limits = limits
        if self._shared is not None:
            self._shared.limits = limits

    def measure_sends(self, times: SendTimes) -> None:
        """On connections from now on."""
        self._state.send_times = times

    def relieve(self, is_short: bool) -> None:
        """Memory has become short, or is enough again."""
        self._state.relieve(is_short)

    def stop_accepting(self) -> None:
        for listener in self._listeners:
            listener.close()

    async def drain(self, seconds: float) -> int:
        """Stop accepting, answer the requests under way, then close.

        Returns the number of connections that had to be aborted.
        """
        self.stop_accepting()
        state = self._state
        if seconds > 0:
            # Requests that arrived while the loop was busy count as under way, and are read now.
            await asyncio.sleep(LAST_LOOK_SECONDS)
        for connection in list(state.connections):
            connection.finish()
        if state.connections:
            self._emptied.clear()
            try:
                await asyncio.wait_for(self._emptied.wait(), seconds)
            except TimeoutError:
                pass
        aborted = len(state.connections)
        if aborted:
            log.warning("%d connections did not end within %.1f s and are aborted", aborted, seconds)
        self.close()
        return aborted

    def close(self) -> None:
        """Abort all connections now."""
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None
        self.stop_accepting()
        for sock, timer in self._leaving.items():
            timer.cancel()
            sock.close()
        self._leaving.clear()
        if self._secured is not None:
            self._secured.close()
        if self._shared is not None:
            for connection in list(self._shared.connections):
                connection.abort()

    @property
    def _state(self) -> SharedState:
        if self._shared is None:
            raise RuntimeError("the server has not been started")
        return self._shared

    def _accept_from(self, listener: ListeningSocket) -> None:
        def accepted(sock: socket.socket, host: str, port: int) -> float:
            return self._accept(listener.address, sock, host, port)

        def complain(error: OSError) -> None:
            self._state.counters.refused_by_reason[OPEN_FILES] += 1
            self._state.refuse(
                "accept",
                f"cannot accept on {listener.address}: {error.strerror}; trying again shortly. "
                "Raise the limit of open files (ulimit -n) or lower max.connections.",
            )

        listener.start(accepted, complain)

    def _accept(self, at: Listener, sock: socket.socket, host: str, port: int) -> float:
        """Returns the seconds for which the listener has to pause."""
        state = self._state
        self._last_id += 1
        client = ClientConnection(host, port, at.name, self._last_id)
        if sock.fileno() >= self._files_max and at.name != self._limits.protected_listener:
            state.counters.refused_by_reason[OPEN_FILES] += 1
            state.refuse(
                "open files",
                f"{client} refused on port {at.port}: the process has {sock.fileno()} files open, and keeps "
                "the rest of its limit for segments and brokers. Raise the limit of open files (ulimit -n) "
                "or lower max.connections.",
            )
            sock.close()
            return SHORTAGE_PAUSE_SECONDS
        verdict = self._admission.decide(self._limits, at.name, host, int(state.loop.time() * 1000))
        pause = verdict.listener_pause_ms / 1000
        if verdict.refusal is not None:
            state.counters.refused_by_reason[verdict.reason] += 1
            state.refuse(verdict.refusal, f"{client} refused on port {at.port}: {verdict.refusal} reached")
            self._turn_away(sock, verdict.close_after_ms / 1000)
            return pause
        if verdict.makes_room:
            self._make_room()
        state.counters.accepted_by_listener[at.name] += 1
        if self._secured is not None and at.name in self._tls:
            self._secured.begin(sock, client, at.port)
            return pause
        connection = ServerConnection(state, client, at.port)
        transport = PlainTransport(state.loop, sock, connection)
        writer = SocketWriter(state.loop, sock, connection.output, connection.wake, state.send_times)
        connection.start(transport, writer)
        return pause

    def _turn_away(self, sock: socket.socket, seconds: float) -> None:
        """Close it, after a pause perhaps: a client that opens connections in a loop has to wait for it."""
        if not seconds or len(self._leaving) >= LEAVING_MAX:
            sock.close()
            return

        def close() -> None:
            del self._leaving[sock]
            sock.close()

        self._leaving[sock] = self._state.loop.call_later(seconds, close)

    def _make_room(self) -> None:
        """Brokers have to meet: the client's connection that was silent for longest ends."""
        clients = [
            connection
            for connection in self._state.connections
            if connection.client.listener != self._limits.protected_listener
        ]
        if clients:
            silent = min(clients, key=lambda connection: connection.last_read)
            self._state.refuse(
                "max.connections", f"{silent.client} is closed for a broker: max.connections reached"
            )
            silent.finish()

    def _gone(self, client: ClientConnection) -> None:
        self._admission.left(client.listener, client.host)

    def _connection_ended(self, connection: ServerConnection) -> None:
        self._gone(connection.client)
        if not self._state.connections:
            self._emptied.set()

    def _sweep(self) -> None:
        state = self._state
        self._tick = state.loop.call_later(self._limits.tick_seconds, self._sweep)
        state.now = now = state.loop.time()
        for connection in list(state.connections):
            try:
                connection.sweep(now)
            except Exception:
                log.exception("%s: the sweep failed; closing the connection", connection.client)
                connection.abort()
        state.budget.tick(now)
        state.gate.tick(now)
        state.pool.tick()
        self._admission.tick(self._limits, int(now * 1000))
