"""The real network of a node: it listens for clients and brokers, and reaches other brokers."""

from collections.abc import Sequence

from tidelog.base.listener import Listener
from tidelog.server.limits import Limits
from tidelog.server.peer_network import PeerNetwork
from tidelog.server.server import Server
from tidelog.server.shared_state import RequestDispatcher


class TcpNetwork(PeerNetwork):
    def listen(self, dispatcher: RequestDispatcher, listeners: Sequence[Listener], limits: Limits) -> Server:
        """Accepts from now on; ListenError where an address cannot be had."""
        server = Server(dispatcher, limits)
        server.start(listeners)
        return server
