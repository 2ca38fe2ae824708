"""The progress of queries over HTTP, from a thread of its own beside Spark's driver."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tidelog.base.errors import TidelogError
from tidelog.base.listener import Listener
from tidelog.cli.exits import CliError
from tidelog.cli.spark.metrics_port import MetricsAddress
from tidelog.metrics.collectors import Collectors
from tidelog.server.http.health_app import health_app
from tidelog.server.http.metrics_app import MetricsApp
from tidelog.server.http.paths import Paths
from tidelog.server.http.server import HttpServer
from tidelog.server.metrics.process import process_metrics
from tidelog.spark.pipeline.metrics import SILENT_S, PipelineMetrics

CLOSE_PATIENCE_S = 5.0


@contextmanager
def served(
    metrics: PipelineMetrics, address: MetricsAddress | None, say: Callable[..., None]
) -> Iterator[None]:
    """Serves the metrics while the block runs; without an address it serves none. CliError where the port is
    taken."""
    if address is None:
        yield
        return
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="metrics", daemon=True)
    thread.start()
    try:
        server = asyncio.run_coroutine_threadsafe(_open(metrics, address), loop).result()
    except TidelogError as error:
        _end(loop, thread)
        raise CliError(f"{error}.", attempt="another --metrics-port, or 0 for a free one") from error
    where = f"http://{address.host}:{server.address.port}/metrics"
    say(f"Metrics are at {where}", event="metrics", url=where)
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(server.close(), loop).result(CLOSE_PATIENCE_S)
        _end(loop, thread)


async def _open(metrics: PipelineMetrics, address: MetricsAddress) -> HttpServer:
    collectors = Collectors()
    collectors.add("pipeline", metrics.collect)
    collectors.add("process", process_metrics)
    paths = Paths({"/metrics": MetricsApp(collectors), "/healthz": health_app(lambda: _Verdict(metrics))})
    server = HttpServer(Listener("HTTP", address.host, address.port), paths)
    server.begin()
    await server.ready()
    return server


class _Verdict:
    def __init__(self, metrics: PipelineMetrics) -> None:
        self._silent_s = metrics.silent_s

    @property
    def ok(self) -> bool:
        return self._silent_s < SILENT_S

    def as_json(self) -> dict[str, Any]:
        reason = None if self.ok else f"the driver has not looked at its queries for {self._silent_s:.0f} s"
        return {"ok": self.ok, **({} if reason is None else {"reason": reason})}


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join(CLOSE_PATIENCE_S)
    if not thread.is_alive():
        loop.close()
