"""The connections of TLS listeners, from accepted socket to connection."""

import ssl
from collections.abc import Callable, Mapping
from socket import socket

from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.server.connection.connection import ServerConnection
from tidelog.server.connection.shared_state import SharedState
from tidelog.server.tls.handshakes import Handshakes
from tidelog.server.tls.tls_listener import TlsListener
from tidelog.server.tls.tls_transport import TlsTransport
from tidelog.server.tls.tls_writer import CHUNK_BYTES, TlsWriter


class TlsClients:
    def __init__(
        self,
        state: SharedState,
        listeners: Mapping[str, TlsListener],
        on_failed: Callable[[ClientConnection], None],
    ) -> None:
        """`on_failed` is called for each client that does not become a connection."""
        self._state = state
        self._listeners = listeners
        self._on_failed = on_failed
        # Each listener has its own: brokers meet, whatever clients do on the others.
        self._handshakes = {
            name: Handshakes(state.loop, seconds=state.limits.handshake_seconds) for name in listeners
        }
        self._scratch = memoryview(bytearray(CHUNK_BYTES))

    def __len__(self) -> int:
        """The number of sockets that are no connections yet."""
        return sum(map(len, self._handshakes.values()))

    def begin(self, sock: socket, client: ClientConnection, port: int) -> None:
        listener = self._listeners[client.listener]
        accepted = _Accepted(self, listener, client, port)
        self._handshakes[client.listener].begin(sock, listener.context, accepted)

    def close(self) -> None:
        for handshakes in self._handshakes.values():
            handshakes.close()

    # What an accepted client comes to.

    def secured(self, client: ClientConnection, session: ssl.SSLSocket, port: int) -> None:
        """The handshake succeeded: from here on it is a connection like the others."""
        state = self._state
        connection = ServerConnection(state, client, port)
        transport = TlsTransport(state.loop, session, connection)
        writer = TlsWriter(
            state.loop,
            session,
            connection.output,
            connection.wake,
            self._scratch,
            times=state.send_times,
        )
        connection.start(transport, writer)

    def failed(self, client: ClientConnection, port: int, reason: str, *, of_certificate: bool) -> None:
        self._state.counters.handshakes_failed += 1
        self._state.refuse("TLS", f"{client} on port {port} {reason}; closing")
        self._on_failed(client)
        if of_certificate:
            self._state.dispatcher.certificate_refused(client, reason)


class _Accepted:
    """A client that was accepted on a TLS listener, until its handshake has ended."""

    __slots__ = ("_all", "_client", "_listener", "_port")

    def __init__(
        self, all_of_them: TlsClients, listener: TlsListener, client: ClientConnection, port: int
    ) -> None:
        self._all = all_of_them
        self._listener = listener
        self._client = client
        self._port = port

    def secured(self, sock: ssl.SSLSocket) -> None:
        principal = self._listener.principal_of(sock)
        if principal is None:
            sock.close()
            self.failed(
                "has a certificate for which ssl.principal.mapping.rules has no principal",
                of_certificate=True,
            )
            return
        self._client.principal = str(principal)
        self._all.secured(self._client, sock, self._port)

    def failed(self, reason: str, *, of_certificate: bool = False) -> None:
        self._all.failed(self._client, self._port, reason, of_certificate=of_certificate)
