"""Opens the port of the schema registry.

Imported only where `schema.registry.port` is set. The app, and uvicorn below it, are loaded with the first
client: until then the port is a socket.
"""

from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING

from tidelog.base.config.config import BrokerConfig
from tidelog.base.listener import Listener
from tidelog.base.settings.schema_registry import FREE_PORT
from tidelog.broker.requests.context import Services
from tidelog.server.http.asgi import App, Receive, Scope, Send
from tidelog.server.http.limits import HttpLimits
from tidelog.server.http.server import HttpServer
from tidelog.server.node_ports import Threads

if TYPE_CHECKING:  # only where the port speaks TLS
    from tidelog.server.http.tls import HttpTls

PREFIX = "schema.registry"
READ_BYTES_MAX = 16 * 1024 * 1024


class RegistryPort:
    """Has its port from the beginning; `begin()` serves it."""

    def __init__(
        self, opened: AsyncExitStack, config: BrokerConfig, services: Services, threads: Threads
    ) -> None:
        """Passwords and tokens are checked on `threads`. Raises ListenError where the port is taken,
        and ConfigError."""
        port = config.int(f"{PREFIX}.port")
        address = Listener("HTTP", config.text(f"{PREFIX}.host"), 0 if port == FREE_PORT else port)
        self._config = config
        self._services = services
        self._threads = threads
        self._app: App | None = None
        self._tls = _tls(opened, config)
        if config.list(f"{PREFIX}.authentication"):
            self._load()  # wrong settings of users or tokens end the start, not the first request
        self._http = HttpServer(
            address,
            self._serve,
            _limits(config),
            None if self._tls is None else self._tls.context,
            _import_all,
        )

    @property
    def address(self) -> Listener:
        return self._http.address

    @property
    def has_tls(self) -> bool:
        return self._tls is not None

    def begin(self) -> None:
        self._http.begin_when_asked()

    async def close(self) -> None:
        await self._http.close()

    def abort(self) -> None:
        self._http.abort()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._app or self._load())(scope, receive, send)

    def _load(self) -> App:
        from tidelog.server.registry.app import registry_app

        self._app = registry_app(self._config, self._services, self._threads)
        return self._app


def _import_all() -> None:
    """Together they take longer than a turn of the loop may."""
    import_module("tidelog.server.registry.app")
    import_module("tidelog.broker.registry.here")
    import_module("tidelog.broker.registry.service")


def _limits(config: BrokerConfig) -> HttpLimits:
    most = config.int(f"{PREFIX}.max.connections")
    return HttpLimits(
        connections_max=most,
        connections_per_host_max=most // 2,
        # What is too long is read to its end, so that the client sees the refusal; within reason.
        body_bytes_max=max(4 * config.int(f"{PREFIX}.request.max.bytes"), READ_BYTES_MAX),
    )


def _tls(opened: AsyncExitStack, config: BrokerConfig) -> "HttpTls | None":
    if config.text(f"{PREFIX}.security.protocol") != "SSL":
        return None
    from tidelog.server.http.tls import HttpTls

    tls = HttpTls(config, f"{PREFIX}.port")
    tls.start()
    opened.push_async_callback(tls.close)
    return tls
