"""TLS of one broker: its listeners and its connections to others, reloaded while it runs.

Imported only where a listener speaks TLS.
"""

import asyncio
import logging

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.listener_settings import name_for
from tidelog.base.security_protocol import SecurityProtocol
from tidelog.security.tls.contexts import ClientAuth, TlsSettings
from tidelog.security.tls.from_config import tls_settings
from tidelog.server.peer_connections.tls import PeerTls
from tidelog.server.tls.tls_listener import TlsListener
from tidelog.server.tls.watched_context import WatchedContext

LOOK_SECONDS = 3.0
"""How often the files of keys and certificates are looked at."""

log = logging.getLogger("tidelog.server")


class NetworkSecurity:
    def __init__(self, config: BrokerConfig) -> None:
        """Raises InvalidTls or InvalidMappingRules: then the broker must not start."""
        protocols = config.security_protocols()
        self.listeners = {
            name: _listener(config, name, protocol) for name, protocol in protocols.items() if protocol.is_tls
        }
        self.peers = PeerTls(config) if protocols[config.inter_broker_listener()].is_tls else None
        self._config = config
        self._changed = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None

    def follow(self, config: BrokerConfig) -> None:
        """New connections obey changed settings a moment later."""
        if config is self._config:
            return
        self._config = config
        for name, listener in self.listeners.items():
            listener.watched.follow(_settings(config, name))
        if self.peers is not None:
            self.peers.follow(config)
        self._changed.set()

    def start(self) -> None:
        """Look at the files from now on."""
        for watched in self._watched():
            watched.announce()
        self._watching = asyncio.get_running_loop().create_task(self._watch(), name="TLS files")

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            try:
                await asyncio.to_thread(self._refresh)
            except Exception:
                log.exception("the files of keys and certificates cannot be looked at; next try in 3 s")

    def _refresh(self) -> None:
        for watched in self._watched():
            watched.refresh()

    def _watched(self) -> list[WatchedContext]:
        watched = [listener.watched for listener in self.listeners.values()]
        return watched if self.peers is None else [*watched, self.peers.watched]


def _listener(config: BrokerConfig, name: str, protocol: SecurityProtocol) -> TlsListener:
    return TlsListener(
        _settings(config, name),
        config.for_listener(name).text("ssl.principal.mapping.rules"),
        name=name,
        names_principals=not protocol.is_sasl,
    )


def _settings(config: BrokerConfig, name: str) -> TlsSettings:
    """On listeners with SASL, `ssl.client.auth` counts behind the listener's name only (KIP-684).

    Clients with a password have no certificate in most clusters, and the plain setting is meant for SSL.
    """
    settings = tls_settings(config.for_listener(name))
    if config.security_protocols()[name].is_sasl and name_for("ssl.client.auth", name) not in config:
        return settings._replace(client_auth=ClientAuth.NONE)
    return settings
