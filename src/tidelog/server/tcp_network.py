"""The real network of a node: it accepts connections, and opens connections to other brokers."""

from collections.abc import Sequence

from tidelog.base.listener import Listener
from tidelog.server.connection.limits import ConnectionLimits
from tidelog.server.connection.shared_state import RequestDispatcher
from tidelog.server.peer_connections.peer_network import PeerConnection, PeerNetwork
from tidelog.server.server import Server


class TcpNetwork:
    """Fills the `NodeNetwork` port of a node: peers are its connections out, servers those in."""

    def __init__(self, peers: PeerNetwork) -> None:
        self._peers = peers

    def connect(self, host: str, port: int) -> PeerConnection:
        return self._peers.connect(host, port)

    async def close(self) -> None:
        await self._peers.close()

    def listen(
        self,
        dispatcher: RequestDispatcher,
        listeners: Sequence[Listener],
        limits: ConnectionLimits,
        *,
        first: str | None = None,
    ) -> Server:
        """Accept connections from now on; with `first`, on that listener alone until the server is opened.

        Raises ListenError if an address cannot be used.
        """
        server = Server(dispatcher, limits)
        server.start(listeners, first=first)
        return server
