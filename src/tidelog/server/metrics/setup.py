"""Opens the port for metrics and health: the apps behind its paths, and the collectors that measure.

Imported only where `metrics.port` is set; nothing is measured for metrics before.
"""

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from tidelog.base.config.config import BrokerConfig
from tidelog.base.listener import Listener
from tidelog.base.settings.metrics import FREE_PORT
from tidelog.broker.client_metrics import ClientMetrics
from tidelog.broker.health import Health
from tidelog.broker.metrics.request_metrics import RequestMetrics
from tidelog.broker.requests.context import Services
from tidelog.server.disk_threads import DiskThreads
from tidelog.server.http.asgi import App
from tidelog.server.http.health_app import health_app
from tidelog.server.http.metrics_app import MetricsApp
from tidelog.server.http.paths import Paths
from tidelog.server.http.server import HttpServer
from tidelog.server.metrics.certificates import certificate_metrics
from tidelog.server.metrics.disk_threads import disk_thread_metrics
from tidelog.server.metrics.gc_pauses import GcPauses
from tidelog.server.metrics.loop_lag import LoopLag
from tidelog.server.metrics.network import network_metrics
from tidelog.server.metrics.process import process_metrics
from tidelog.server.node_ports import Serving, Threads
from tidelog.server.server import Server

if TYPE_CHECKING:  # only where the port speaks TLS
    from tidelog.server.http.tls import HttpTls


class MetricsPort:
    def __init__(self, http: HttpServer, pauses: GcPauses) -> None:
        self._http = http
        self._pauses = pauses

    @property
    def address(self) -> Listener:
        return self._http.address

    async def ready(self) -> None:
        """Returns once it answers."""
        await self._http.ready()

    def abort(self) -> None:
        self._pauses.stop()
        self._http.abort()


def open_metrics(
    opened: AsyncExitStack,
    config: BrokerConfig,
    services: Services,
    server: Serving,
    threads: Threads,
    *,
    requests: RequestMetrics,
) -> MetricsPort:
    """Raises ListenError where the port is taken."""
    port = config.int("metrics.port")
    address = Listener("HTTP", config.text("metrics.host"), 0 if port == FREE_PORT else port)
    collectors = services.collectors
    paths = Paths(
        {
            "/metrics": _protected(config, MetricsApp(collectors)),
            "/healthz": health_app(lambda: Health.of(services).live()),
            "/readyz": health_app(lambda: Health.of(services).ready()),
            "/readyz/machine": health_app(lambda: Health.of(services).machine_ready()),
        }
    )
    tls = _tls(opened, config)
    http = HttpServer(address, paths, tls=None if tls is None else tls.context)
    collectors.add("process", process_metrics)
    if isinstance(server, Server):
        collectors.add("network", network_metrics(server, services.authentication_failures))
        server.measure_sends(requests)
        collectors.add("certificates", certificate_metrics(server.tls_listeners))
    if isinstance(threads, DiskThreads):
        collectors.add("disk threads", disk_thread_metrics(threads))
    lag, pauses = LoopLag(asyncio.get_running_loop()), GcPauses()
    for name, measured in (("loop", lag), ("gc", pauses)):
        measured.start()
        opened.callback(measured.stop)
        collectors.add(name, measured.collect)
    services.client_metrics = clients = ClientMetrics(
        services.metadata, services.clock, services.random, services.run_in_thread
    )
    collectors.add("client metrics", clients.collect)
    http.begin()
    opened.push_async_callback(http.close)
    return MetricsPort(http, pauses)


def _protected(config: BrokerConfig, app: App) -> App:
    path = config.optional_text("metrics.token.file")
    if path is None:
        return app
    from tidelog.server.http.bearer import BearerToken

    return BearerToken(path).protect(app)


def _tls(opened: AsyncExitStack, config: BrokerConfig) -> "HttpTls | None":
    if config.text("metrics.security.protocol") != "SSL":
        return None
    from tidelog.server.http.tls import HttpTls

    tls = HttpTls(config, "metrics.port")
    tls.start()
    opened.push_async_callback(tls.close)
    return tls
