"""Traces through records: the W3C trace context travels in the headers `traceparent` and `tracestate`.

Producers add it with `tracing=True`; consumers take it up with `consumer_span` or `trace_context`. All of it
needs OpenTelemetry, which is imported on first use.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidelog.clients.errors import ConfigurationError
from tidelog.clients.records import Headers, Message

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

TRACE_HEADERS = frozenset({"traceparent", "tracestate"})


class TraceInjector:
    """Adds the current trace context to headers. A context that they have already stays as it is."""

    def __init__(self) -> None:
        self._inject = _opentelemetry("propagate").inject

    def __call__(self, headers: Headers | None) -> Headers | None:
        carrier: dict[str, str] = {}
        self._inject(carrier)
        if not carrier:
            return headers
        given = list(headers.items() if isinstance(headers, Mapping) else headers or ())
        if any(name in TRACE_HEADERS for name, _ in given):
            return headers
        return [*given, *carrier.items()]


def trace_context(message: Message[Any, Any]) -> "Context":
    """The trace context that a record carries, for spans that continue its trace.

    Example:
        from opentelemetry import trace
        from tidelog import trace_context

        def handle(message):
            tracer = trace.get_tracer("shop")
            with tracer.start_as_current_span("handle order", context=trace_context(message)):
                return message.value

    Args:
        message: The record.

    Returns:
        A context of OpenTelemetry; the current one where the record carries none.

    Raises:
        ConfigurationError: OpenTelemetry is not installed.
    """
    carrier = {name: value.decode("ascii", "replace") for name, value in message.headers if value is not None}
    context: Context = _opentelemetry("propagate").extract(carrier)
    return context


@contextmanager
def consumer_span(message: Message[Any, Any]) -> "Iterator[Span]":
    """A span around the work on a record, as a part of the trace that the record carries.

    Example:
        from tidelog import Consumer, Producer, consumer_span

        servers = {"bootstrap.servers": "localhost:9092"}
        with Producer({**servers, "tracing": True}) as producer:
            producer.send("traced-orders", "one book").result()
        with Consumer({**servers, "group.id": "shop", "auto.offset.reset": "earliest"}) as consumer:
            consumer.subscribe(["traced-orders"])
            for message in consumer.poll(10_000):
                with consumer_span(message):
                    print(message.value)

    Args:
        message: The record.

    Raises:
        ConfigurationError: OpenTelemetry is not installed.
    """
    trace = _opentelemetry("trace")
    with trace.get_tracer("tidelog").start_as_current_span(
        f"process {message.topic}",
        context=trace_context(message),
        kind=trace.SpanKind.CONSUMER,
        attributes={
            "messaging.system": "kafka",
            "messaging.operation.type": "process",
            "messaging.destination.name": message.topic,
            "messaging.destination.partition.id": str(message.partition),
            "messaging.kafka.offset": message.offset,
        },
    ) as span:
        yield span


def _opentelemetry(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"opentelemetry.{module}")
    except ImportError as error:
        raise ConfigurationError(
            "Traces need OpenTelemetry, which is not installed.",
            cause=str(error),
            attempt="pip install 'tidelog[otel]'",
        ) from error
