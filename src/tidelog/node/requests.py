"""The routes of requests, with what settings ask for on the way: audit, metrics, slow requests, traces."""

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from tidelog.base.config.config import BrokerConfig
from tidelog.broker.native.plain_produce import compiled_produce
from tidelog.broker.requests.context import Services
from tidelog.broker.requests.produce_shortcut import Front, ProduceShortcut
from tidelog.broker.requests.reply import Reply
from tidelog.broker.requests.routes import Routes, WatchResponses
from tidelog.wire.apis import ApiKey

if TYPE_CHECKING:  # a broker without metrics does not import it
    from tidelog.broker.metrics.request_metrics import RequestMetrics


def routes_of(
    opened: AsyncExitStack, services: Services, config: BrokerConfig, watch_responses: WatchResponses | None
) -> Routes:
    compiled = compiled_produce(config.text("produce.compiled"), Front, Reply)
    shortcut = ProduceShortcut(services, compiled)
    if not (config["audit.file"] or config["audit.topic"]):
        return Routes({ApiKey.PRODUCE: shortcut}, None, watch_responses)
    from tidelog.broker.requests.audit_setup import audited_routes, open_audit

    services.audit = open_audit(opened, services, config)
    return audited_routes(services.audit, shortcut, watch_responses)


def request_metrics(
    opened: AsyncExitStack, services: Services, config: BrokerConfig
) -> "RequestMetrics | None":
    """Only where metrics are served or slow requests logged or traced; else requests pay nothing."""
    slow_ms = config.int("log.slow.requests.ms")
    endpoint = config.text("tracing.otlp.endpoint")
    if not config.int("metrics.port") and not slow_ms and not endpoint:
        return None
    from tidelog.broker.metrics.request_metrics import RequestMetrics
    from tidelog.broker.metrics.slow_requests import log_slow_request

    measured = RequestMetrics()
    if slow_ms:
        measured.counted_seconds = slow_ms / 1000
        measured.watch_slow(slow_ms / 1000, log_slow_request)
    if endpoint:
        from tidelog.server.tracing import open_tracing

        open_tracing(opened, config, services, measured)
    services.count_error = measured.count_error
    services.collectors.add("requests", measured.collect)
    return measured
