"""The real network of a node: it accepts connections, and opens connections to other brokers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.invariant import invariant
from tidelog.base.listener import Listener
from tidelog.server.connection.limits import ConnectionLimits
from tidelog.server.connection.shared_state import RequestDispatcher
from tidelog.server.peer_connections.peer_network import PeerConnection, PeerNetwork
from tidelog.server.server import Server

if TYPE_CHECKING:  # a broker without TLS does not import it
    from tidelog.server.network_security import NetworkSecurity


class TcpNetwork:
    """Fills the `NodeNetwork` port of a node: peers are its connections out, servers those in."""

    def __init__(self, peers: PeerNetwork) -> None:
        self._peers = peers
        self._security: NetworkSecurity | None = None
        self._tls_names: set[str] = set()

    def secure(self, config: BrokerConfig) -> None:
        """Load keys and certificates. Raises InvalidTls where a TLS listener has no usable ones."""
        protocols = config.security_protocols()
        self._tls_names = {name for name, protocol in protocols.items() if protocol.is_tls}
        if protocols[config.inter_broker_listener()].is_sasl:
            from tidelog.server.peer_connections.sasl_login import SaslLogin

            self._peers.login = SaslLogin.of(config, self._peers.random)
        if self._tls_names:
            from tidelog.server.network_security import NetworkSecurity

            self._security = NetworkSecurity(config)
            self._peers.tls = self._security.peers

    def follow(self, config: BrokerConfig) -> None:
        """Settings have changed while the broker runs."""
        if self._security is not None:
            self._security.follow(config)

    def connect(self, host: str, port: int) -> PeerConnection:
        return self._peers.connect(host, port)

    async def close(self) -> None:
        if self._security is not None:
            await self._security.close()
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
        tls = {} if self._security is None else self._security.listeners
        invariant(set(tls) == self._tls_names, "a listener would serve plain bytes where TLS is demanded")
        server = Server(dispatcher, limits, tls)
        server.start(listeners, first=first)
        if self._security is not None:
            self._security.start()
        return server
