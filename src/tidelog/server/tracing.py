"""Spans of slow requests, by OpenTelemetry's SDK, which exports them on a thread of its own.

Imported only where `tracing.otlp.endpoint` is set. A request whose first record has a W3C trace context
becomes part of that trace, unless its sampling decision says no; any other begins one.
"""

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any

from tidelog.base.config.config import BrokerConfig
from tidelog.base.config.error import ConfigError, Problem
from tidelog.broker.metrics.request_metrics import RequestMetrics
from tidelog.broker.metrics.slow_requests import SlowRequest
from tidelog.broker.metrics.trace_parent import trace_parent
from tidelog.broker.requests.context import Services

SPANS_PER_SECOND_MAX = 100
"""While every request is slow, spans must not make it worse."""
EXPORT_SECONDS = 5.0
QUEUED_MAX = 2_048
_SECOND = 1_000_000_000

WAITS_FOR = {
    "Produce": "the disk, and replicas that are in sync",
    "Fetch": "records to read",
    "JoinGroup": "other members of the group",
    "SyncGroup": "the leader of the group",
}
CONTROLLER = "the controller, another broker or the disk"


class Tracing:
    def __init__(self, provider: Any, node_id: int) -> None:
        """`provider` is a TracerProvider of the SDK, or of a test."""
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._tracer = provider.get_tracer("tidelog.broker")
        self._kind = SpanKind.SERVER
        self._propagator = TraceContextTextMapPropagator()
        self._node_id = node_id
        self._second = 0
        self._spans = 0
        self.left_out = 0

    def record(self, request: SlowRequest, now_ns: int | None = None) -> None:
        """Makes the span of a request that has just been answered."""
        end = time.time_ns() if now_ns is None else now_ns
        if not self._has_room(end // _SECOND):
            self.left_out += 1
            return
        parent = self._propagator.extract({"traceparent": request.trace}) if request.trace else None
        span = self._tracer.start_span(
            f"kafka {request.api}",
            context=parent,
            kind=self._kind,
            attributes=self._attributes(request),
            start_time=end - int(request.total * _SECOND),
        )
        span.end(end)

    def _attributes(self, request: SlowRequest) -> dict[str, str | int | float]:
        connection = request.connection
        found: dict[str, str | int | float] = {
            "messaging.system": "kafka",
            "rpc.method": request.api,
            "client.address": connection.host,
            "client.port": connection.port,
            "messaging.client.id": connection.client_id or "",
            "enduser.id": connection.principal,
            "tidelog.broker": self._node_id,
            "tidelog.listener": connection.listener,
            "tidelog.request.bytes": request.request_bytes,
            "tidelog.seconds.local": request.local,
            "tidelog.seconds.remote": request.remote,
            "tidelog.seconds.throttle": request.throttle,
        }
        if request.remote > 0:
            found["tidelog.waited_for"] = WAITS_FOR.get(request.api, CONTROLLER)
        return found

    def _has_room(self, second: int) -> bool:
        if second != self._second:
            self._second, self._spans = second, 0
        self._spans += 1
        return self._spans <= SPANS_PER_SECOND_MAX


def open_tracing(
    opened: AsyncExitStack, config: BrokerConfig, services: Services, measured: RequestMetrics
) -> None:
    """Raises ConfigError where the package is missing."""
    endpoint = config.text("tracing.otlp.endpoint")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigError(
            [
                Problem(
                    "tracing.otlp.endpoint",
                    f"traces need OpenTelemetry ({error}); pip install 'tidelog[otel]'",
                )
            ]
        ) from error
    node_id = config.int("node.id")
    resource = Resource.create({"service.name": "tidelog", "service.instance.id": str(node_id)})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=endpoint, timeout=EXPORT_SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=QUEUED_MAX))
    tracing = Tracing(provider, node_id)
    measured.trace_of = trace_parent
    measured.watch_slow(config.int("tracing.slow.requests.ms") / 1000, tracing.record)
    opened.push_async_callback(asyncio.to_thread, provider.shutdown)
