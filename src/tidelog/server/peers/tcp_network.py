"""The real network of a node: it listens for clients and brokers, and reaches other brokers."""

from collections.abc import Sequence

from tidelog.base.listener import Listener
from tidelog.server.connection.limits import Limits
from tidelog.server.connection.shared_state import RequestDispatcher
from tidelog.server.peers.network import PeerNetwork
from tidelog.server.server import Server


class TcpNetwork(PeerNetwork):
    def listen(
        self,
        dispatcher: RequestDispatcher,
        listeners: Sequence[Listener],
        limits: Limits,
        *,
        first: str | None = None,
    ) -> Server:
        """Accepts from now on, with `first` only there until it is opened; ListenError where it cannot."""
        server = Server(dispatcher, limits)
        server.start(listeners, first=first)
        return server
