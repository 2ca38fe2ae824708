"""What connections to other brokers need beyond TCP: a TLS session, where the listener speaks TLS.

The trust store says which brokers to believe; the key store is this broker's own certificate, for listeners
with `ssl.client.auth=required`.
"""

import ssl

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.values import ConfigValues
from tidelog.security.tls.contexts import client_context
from tidelog.security.tls.from_config import tls_settings
from tidelog.server.peer_connections.refusal import PeerRefused
from tidelog.server.tls.explanations import explain_broker
from tidelog.server.tls.watched_context import WatchedContext


class PeerTls:
    def __init__(self, config: BrokerConfig) -> None:
        """Raises InvalidTls."""
        self.watched = WatchedContext(
            "connections to other brokers", tls_settings(_of_listener(config)), client_context
        )

    @property
    def context(self) -> ssl.SSLContext:
        return self.watched.context

    def follow(self, config: BrokerConfig) -> None:
        self.watched.follow(tls_settings(_of_listener(config)))

    def is_refusal(self, error: OSError) -> bool:
        """Whether an attempt failed after TCP had connected: then TLS is to blame."""
        return isinstance(error, ssl.SSLError | ConnectionResetError | ConnectionAbortedError)

    def refused(self, name: str, error: Exception) -> PeerRefused:
        return PeerRefused(f"No secure connection to the broker at {name}: {explain_broker(error)}")

    def why_lost(self, name: str, error: Exception) -> OSError:
        """A connection broke: by an alert of TLS, or as any other."""
        if isinstance(error, ssl.SSLError):
            return self.refused(name, error)
        return ConnectionError(f"{name} ended the connection: {error}")


def _of_listener(config: BrokerConfig) -> ConfigValues:
    return config.for_listener(config.inter_broker_listener())
