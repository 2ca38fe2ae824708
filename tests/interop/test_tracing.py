"""Traces through records and of slow requests, seen by a receiver of OTLP over HTTP."""

import gzip
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from confluent_kafka import Consumer as LibrdkafkaConsumer
from confluent_kafka import Producer as LibrdkafkaProducer
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import format_span_id, format_trace_id

from tidelog import Consumer, ConsumerConfig, Message, Producer, ProducerConfig, consumer_span, trace_context
from tidelog.server.tracing import SPANS_PER_SECOND_MAX, Tracing
from tidelog.testing import Broker

TOPIC = "traced"
CONTEXT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Receiver:
    """Takes spans as a collector does, and keeps them."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[dict[str, str]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                receiver.take(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_arguments: Any) -> None:
                pass

        self._server = HTTPServer(("localhost", 0), Handler)
        self.endpoint = f"http://localhost:{self._server.server_port}/v1/traces"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self, request: Any) -> None:
        for of_resource in request.resource_spans:
            found = {one.key: one.value.string_value for one in of_resource.resource.attributes}
            self.resources.append(found)
            for scope in of_resource.scope_spans:
                self.spans += scope.spans

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    yield running
    running.close()


@pytest.fixture(scope="module")
def own_spans() -> InMemorySpanExporter:
    """The spans of this process, where the clients are."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


def read_one(broker: Broker) -> Message[Any, Any]:
    config = ConsumerConfig(
        bootstrap_servers=broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest"
    )
    with Consumer(config) as consumer:
        consumer.subscribe([TOPIC])
        for _ in range(100):
            for message in consumer.poll(300):
                return message
    raise AssertionError("no record came")


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def test_one_trace_from_the_producer_through_the_broker_to_the_consumer(
    receiver: Receiver, own_spans: InMemorySpanExporter
) -> None:
    settings = {
        "tracing.otlp.endpoint": receiver.endpoint,
        "tracing.slow.requests.ms": 0,
        "durability": "fsync",
    }
    with Broker(settings=settings) as broker:
        config = ProducerConfig(bootstrap_servers=broker.bootstrap_servers, tracing=True, client_id="shop")
        with Producer(config) as producer, trace.get_tracer("test").start_as_current_span("order") as order:
            producer.send(TOPIC, b"v", headers={"own": b"1"}).result(10)
        message = read_one(broker)
        assert message.headers[0] == ("own", b"1")
        with consumer_span(message):
            pass
    mine = order.get_span_context()
    trace_id, span_id = format_trace_id(mine.trace_id), format_span_id(mine.span_id)
    assert (message.header("traceparent") or b"").startswith(f"00-{trace_id}-{span_id}-".encode())
    [processed] = [span for span in own_spans.get_finished_spans() if span.name == f"process {TOPIC}"]
    assert processed.context.trace_id == mine.trace_id
    assert processed.parent.span_id == mine.span_id

    [produced] = [span for span in receiver.spans if span.name == "kafka Produce"]
    assert produced.trace_id.hex() == trace_id
    assert produced.parent_span_id.hex() == span_id
    found = attributes(produced)
    assert found["messaging.client.id"] == "shop"
    assert found["tidelog.waited_for"] == "the disk, and replicas that are in sync"
    took = (produced.end_time_unix_nano - produced.start_time_unix_nano) / 1e9
    assert took == pytest.approx(found["tidelog.seconds.local"] + found["tidelog.seconds.remote"], abs=1e-6)
    assert receiver.resources[0]["service.name"] == "tidelog"
    others = [span for span in receiver.spans if span.name == "kafka Metadata"]
    assert others, "requests without records are traced too"
    assert not others[0].parent_span_id


def test_headers_of_traces_are_passed_on_untouched(broker_address: str, make_topic: Any) -> None:
    topic = make_topic()
    headers = [
        ("tracestate", b"vendor=1"),
        ("traceparent", CONTEXT.encode()),
        ("traceparent", b"\xff"),
        ("x", None),
    ]
    for codec in ("none", "zstd"):
        producer = LibrdkafkaProducer({"bootstrap.servers": broker_address, "compression.type": codec})
        producer.produce(topic, b"v", headers=headers)
        assert producer.flush(10) == 0
    consumer = LibrdkafkaConsumer(
        {"bootstrap.servers": broker_address, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    read: list[Any] = []
    for _ in range(100):
        read += consumer.consume(2 - len(read), 0.3)
        if len(read) == 2:
            break
    consumer.close()
    assert [message.headers() for message in read] == [headers, headers]


def test_a_context_that_the_caller_gives_wins(own_spans: InMemorySpanExporter) -> None:
    with Broker() as broker:
        config = ProducerConfig(bootstrap_servers=broker.bootstrap_servers, tracing=True)
        with Producer(config) as producer, trace.get_tracer("test").start_as_current_span("order"):
            producer.send(TOPIC, b"v", headers={"traceparent": CONTEXT}).result(10)
        message = read_one(broker)
    assert message.headers == (("traceparent", CONTEXT.encode()),)
    context = trace.get_current_span(trace_context(message)).get_span_context()
    assert format_trace_id(context.trace_id) == CONTEXT[3:35]


def test_spans_are_bounded_and_a_parent_that_is_not_sampled_is_obeyed() -> None:
    from tidelog.broker.metrics.slow_requests import SlowRequest
    from tidelog.broker.requests.client_connection import ClientConnection

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing = Tracing(provider, 1)
    connection = ClientConnection("192.0.2.1", 4711, "PLAINTEXT")
    slow = SlowRequest("Produce", connection, 100, 0.1, 0.2, 0.0)
    tracing.record(slow._replace(trace=CONTEXT[:-2] + "00"), now_ns=10**18)
    assert not exporter.get_finished_spans()
    for _ in range(SPANS_PER_SECOND_MAX + 5):
        tracing.record(slow, now_ns=10**18)
    assert len(exporter.get_finished_spans()) == SPANS_PER_SECOND_MAX - 1
    assert tracing.left_out == 6
    tracing.record(slow, now_ns=10**18 + 10**9)
    assert len(exporter.get_finished_spans()) == SPANS_PER_SECOND_MAX


def test_without_traces_nothing_of_opentelemetry_is_imported() -> None:
    script = (
        "import sys; from tidelog.testing import Broker\n"
        "from tidelog import Producer\n"
        "with Broker() as broker:\n"
        "    with Producer({'bootstrap.servers': broker.bootstrap_servers}) as producer:\n"
        "        producer.send('t', b'v').result(10)\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
