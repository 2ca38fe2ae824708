"""Clients' own metrics (KIP-714): Kafka's tool subscribes, librdkafka and Java push, a scrape shows."""

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import urlopen

import pytest
from confluent_kafka import Consumer, Producer

from tests.interop.command_line import run_here
from tests.interop.drivers.java import ToolFailed
from tests.interop.waiting import eventually
from tidelog.testing import Broker

TOOL = "org.apache.kafka.tools.ClientMetricsCommand"
SAMPLE = re.compile(r"^tidelog_client_metric(?:_total)?\{(.*)\} (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
Tool = Callable[..., str]


@pytest.fixture(scope="module")
def measured() -> Iterator[Broker]:
    with Broker(settings={"metrics.port": -1}) as running:
        yield running


@pytest.fixture
def tool(open_client: Callable[[str], Any], measured: Broker) -> Tool:
    java = open_client("java")

    def run(name: str, *arguments: str, stdin: str = "") -> str:
        return str(java.tool(name, "--bootstrap-server", measured.bootstrap_servers, *arguments, stdin=stdin))

    return run


@pytest.fixture
def client_metrics(
    measured: Broker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """`tidelog client-metrics`, and what it printed."""

    def call(*arguments: str) -> str:
        servers = measured.bootstrap_servers
        done = run_here(capsys, monkeypatch, ["-b", servers, "client-metrics", *arguments], b"", None)
        assert done.code == 0, done.err
        return str(done.out)

    return call


def samples(broker: Broker, client_id: str) -> dict[str, dict[str, str]]:
    """The labels of a client's samples, with the value, by the name of the metric."""
    with urlopen(f"http://{broker.metrics_address}/metrics", timeout=10) as page:
        lines = page.read().decode().splitlines()
    found = {}
    for line in lines:
        if match := SAMPLE.match(line):
            labels = dict(LABEL.findall(match[1]))
            if labels["client_id"] == client_id:
                found[labels["metric"]] = {**labels, "value": match[2]}
    return found


def test_kafkas_tool_and_ours_see_the_same_subscriptions(
    tool: Tool, client_metrics: Callable[..., str]
) -> None:
    created = tool(
        TOOL,
        "--alter",
        *("--name", "waits", "--metrics", "org.apache.kafka.producer.,org.apache.kafka.consumer."),
        *("--interval", "30000", "--match", "client_id=waits-.*,client_software_name=java"),
    )
    assert "Altered client metrics config for waits." in created
    assert "waits" in tool(TOOL, "--list").splitlines()
    assert "interval.ms=30000" in tool(TOOL, "--describe", "--name", "waits")
    assert "client_id=waits-.*,client_software_name=java" in client_metrics("describe", "waits")
    client_metrics("set", "waits", "--interval", "1m")
    assert "interval.ms=60000" in tool(TOOL, "--describe")
    with pytest.raises(ToolFailed, match="interval must be between 100 and 3600000"):
        tool(TOOL, "--alter", "--name", "waits", "--interval", "99")
    with pytest.raises(ToolFailed, match="Illegal client matching pattern"):
        tool(TOOL, "--alter", "--name", "waits", "--match", "colour=blue")
    tool(TOOL, "--delete", "--name", "waits")
    assert "waits" not in client_metrics("list")


def test_librdkafka_pushes(measured: Broker, client_metrics: Callable[..., str]) -> None:
    client_metrics(*("set", "rdkafka", "--metrics", "*", "--interval", "200ms", "--match", "client_id=rd-.*"))
    settings = {"bootstrap.servers": measured.bootstrap_servers}
    producer = Producer({**settings, "client.id": "rd-producer", "linger.ms": 0})
    consumer = Consumer(
        {**settings, "client.id": "rd-consumer", "group.id": "rd-group", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["rd-topic"])
    latency = "org.apache.kafka.producer.node.request.latency.avg"

    def is_pushed() -> bool:
        producer.produce("rd-topic", b"v")
        producer.flush(5)
        consumer.poll(0.1)
        return latency in samples(measured, "rd-producer") and bool(samples(measured, "rd-consumer"))

    eventually(is_pushed)
    shown = samples(measured, "rd-producer")[latency]
    assert float(shown["value"]) >= 0
    assert shown["software"].startswith("confluent-kafka-python/")
    assert shown["node"]
    assert "org.apache.kafka.producer.connection.creation.total" in samples(measured, "rd-producer")
    assert "org.apache.kafka.consumer.coordinator.assigned.partitions" in samples(measured, "rd-consumer")
    consumer.close()
    client_metrics("delete", "rdkafka")


def test_java_clients_push(measured: Broker, tool: Tool, client_metrics: Callable[..., str]) -> None:
    client_metrics(
        *("set", "java", "--metrics", "org.apache.kafka.", "--interval", "200ms"),
        *("--match", "client_software_name=apache-kafka-java"),
    )
    lines = "".join(f"{number}\n" for number in range(100))
    producing = ["--topic", "java-topic", "--command-property", "client.id=java-producer"]
    tool("org.apache.kafka.tools.ConsoleProducer", *producing, stdin=lines)
    tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--topic", "java-topic", "--from-beginning", "--timeout-ms", "3000", "--group", "java-group"),
        *("--command-property", "client.id=java-consumer"),
    )
    produced, consumed = (samples(measured, f"java-{kind}") for kind in ("producer", "consumer"))
    sent = produced["org.apache.kafka.producer.record.send.total"]
    assert sent["value"] == "100.0"
    assert sent["software"].startswith("apache-kafka-java/")
    assert "org.apache.kafka.producer.node.request.latency.avg" in produced
    assert consumed["org.apache.kafka.consumer.fetch.manager.records.consumed.total"]["group"] == "java-group"
    assert "org.apache.kafka.consumer.coordinator.rebalance.latency.avg" in consumed
    assert "org.apache.kafka.consumer.fetch.manager.records.lag.max" in consumed
    client_metrics("delete", "java")
