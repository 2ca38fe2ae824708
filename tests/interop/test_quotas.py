"""Quotas, seen by real clients: Kafka's tools set them, each client keeps to its rate and sees the pauses."""

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer

from tests.interop.command_line import run_here
from tests.interop.drivers.java import ToolFailed
from tests.interop.waiting import eventually
from tidelog.testing import Broker, Security

CONFIGS = "kafka.admin.ConfigCommand"
RATE = 250_000
VALUE = b"v" * 10_000
RECORDS = 100
"""Four seconds at the rate, of which a burst takes one or two."""


@pytest.fixture(scope="module")
def limited() -> Iterator[Broker]:
    """A broker that measures rates over two windows: a burst is what a second allows."""
    with Broker(settings={"quota.window.num": 2}) as running:
        producer = Producer({"bootstrap.servers": running.bootstrap_servers})
        for _ in range(RECORDS):
            producer.produce("orders", VALUE)
        assert producer.flush(10) == 0
        yield running


@pytest.fixture
def tool(open_client: Callable[[str], Any], limited: Broker) -> Callable[..., str]:
    java = open_client("java")

    def run(name: str, *arguments: str) -> str:
        return str(java.tool(name, "--bootstrap-server", limited.bootstrap_servers, *arguments))

    return run


@pytest.fixture
def quota(
    limited: Broker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """`tidelog quota`, and what it printed."""

    def call(*arguments: str) -> str:
        done = run_here(
            capsys, monkeypatch, ["-b", limited.bootstrap_servers, "quota", *arguments], b"", None
        )
        assert done.code == 0, done.err
        return str(done.out)

    return call


def assert_limited(count: int, seconds: float) -> None:
    """Within the rate and its burst, and not held up for nothing."""
    sent = count * len(VALUE)
    assert sent <= RATE * (seconds + 2), f"{sent} bytes in {seconds:.1f} s"
    assert seconds < 3 * sent / RATE, f"{sent} bytes took {seconds:.1f} s"


def test_librdkafka(limited: Broker, quota: Callable[..., str]) -> None:
    quota("set", "--client-id", "rdkafka", "--producer-bytes", str(RATE), "--consumer-bytes", str(RATE))
    pauses: list[float] = []
    settings = {
        "bootstrap.servers": limited.bootstrap_servers,
        "client.id": "rdkafka",
        "throttle_cb": lambda event: pauses.append(event.throttle_time),
    }
    producer = Producer({**settings, "batch.size": 50_000})
    begin = time.monotonic()
    for _ in range(RECORDS):
        producer.produce("written", VALUE)
    assert producer.flush(30) == 0
    assert_limited(RECORDS, time.monotonic() - begin)
    assert max(pauses) > 0
    pauses.clear()
    consumer = Consumer({**settings, "group.id": "rdkafka", "max.partition.fetch.bytes": 100_000})
    consumer.assign([TopicPartition("orders", 0, 0)])
    begin, received = time.monotonic(), 0
    while received < RECORDS:
        message = consumer.poll(15)
        assert message is not None
        received += message.error() is None
    assert_limited(RECORDS, time.monotonic() - begin)
    consumer.close()
    assert max(pauses) > 0


def test_kafka_python(limited: Broker, quota: Callable[..., str]) -> None:
    quota("set", "--client-id", "python", "--producer-bytes", str(RATE), "--consumer-bytes", str(RATE))
    settings = {"bootstrap_servers": limited.bootstrap_servers, "client_id": "python"}
    producer = KafkaProducer(**settings, batch_size=50_000, linger_ms=5)
    begin = time.monotonic()
    for _ in range(RECORDS):
        producer.send("written", VALUE)
    producer.flush(30)
    assert_limited(RECORDS, time.monotonic() - begin)
    assert _longest_pause(producer) > 0
    producer.close()
    consumer = KafkaConsumer(
        **settings, auto_offset_reset="earliest", fetch_max_bytes=100_000, consumer_timeout_ms=15_000
    )
    consumer.subscribe(["orders"])
    begin, received = time.monotonic(), 0
    for _ in consumer:
        received += 1
        if received == RECORDS:
            break
    assert_limited(received, time.monotonic() - begin)
    assert received == RECORDS
    assert _longest_pause(consumer) > 0
    consumer.close()


def _longest_pause(client: KafkaProducer | KafkaConsumer) -> float:
    name = "throttle-time-max"
    return max(float(group[name]) for group in client.metrics().values() if name in group)


def test_java(tool: Callable[..., str], quota: Callable[..., str]) -> None:
    quota("set", "--client-id", "java", "--producer-bytes", str(RATE), "--consumer-bytes", str(RATE))
    begin = time.monotonic()
    printed = tool(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", "written", "--num-records", str(RECORDS), "--record-size", str(len(VALUE))),
        *("--throughput", "-1", "--print-metrics", "--command-property", "client.id=java"),
    )
    assert_limited(RECORDS, time.monotonic() - begin)
    assert _metric(printed, "produce-throttle-time-max") > 0
    begin = time.monotonic()
    printed = tool(
        "org.apache.kafka.tools.ConsumerPerformance",
        *("--topic", "orders", "--num-records", str(RECORDS), "--print-metrics", "--timeout", "20000"),
        *("--command-property", "client.id=java", "--fetch-size", "100000"),
    )
    assert_limited(RECORDS, time.monotonic() - begin)
    assert _metric(printed, "fetch-throttle-time-max") > 0


def _metric(printed: str, name: str) -> float:
    values = re.findall(rf"{name}[^\n]*?:\s*([0-9.]+|NaN)\s*$", printed, re.MULTILINE)
    assert values, f"{name} is not among the metrics"
    return max(float(value) for value in values if value != "NaN")


@pytest.mark.parametrize(
    ("entity", "shown", "key"),
    [
        (
            ["--entity-type", "users", "--entity-name", "alice"],
            "user-principal 'alice'",
            "producer_byte_rate",
        ),
        (["--entity-type", "clients", "--entity-default"], "default client-id", "consumer_byte_rate"),
        (
            ["--entity-type", "ips", "--entity-name", "192.0.2.1"],
            "ip '192.0.2.1'",
            "connection_creation_rate",
        ),
    ],
    ids=["users", "clients", "ips"],
)
def test_kafka_configs(tool: Callable[..., str], entity: list[str], shown: str, key: str) -> None:
    assert "Completed updating" in tool(CONFIGS, "--alter", *entity, "--add-config", f"{key}=1234567")
    described = tool(CONFIGS, "--describe", *entity)
    assert f"{key}=1234567" in described
    assert shown in described
    assert "Completed updating" in tool(CONFIGS, "--alter", *entity, "--delete-config", key)
    eventually(lambda: key not in tool(CONFIGS, "--describe", *entity))


def test_kafka_configs_of_a_user_and_a_client_id(tool: Callable[..., str], quota: Callable[..., str]) -> None:
    entity = ["--entity-type", "users", "--entity-name", "alice", "--entity-type", "clients"]
    both = [*entity, "--entity-name", "etl"]
    tool(CONFIGS, "--alter", *both, "--add-config", "producer_byte_rate=1048576,request_percentage=12.5")
    listed = quota("list", "--user", "alice", "--client-id", "etl")
    assert re.search(r"producer-bytes\s+1 MiB/s\s+user alice, client id etl", listed)
    shown = json.loads(quota("list", "--json"))
    assert {"user": "alice", "client-id": "etl"} in [entry["entity"] for entry in shown]
    quota("remove", "--user", "alice", "--client-id", "etl")
    assert "producer_byte_rate" not in tool(CONFIGS, "--describe", *both)
    with pytest.raises(ToolFailed, match="greater than 0"):
        tool(CONFIGS, "--alter", *both, "--add-config", "producer_byte_rate=0")


def test_a_quota_of_a_user_holds_for_that_user_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over SASL_SSL, whatever client ids the user takes."""
    security = Security("sasl_ssl", users=["ann", "bob"])
    with Broker(security=security, settings={"quota.window.num": 2}) as broker:
        admin = broker.client_config("admin")
        options = [
            option for name, value in admin.items() if "." in name for option in ("-X", f"{name}={value}")
        ]
        arguments = ["-b", broker.bootstrap_servers, "quota", "set", *options]
        command = [*arguments, "--user", "ann", "--producer-bytes", str(RATE)]
        done = run_here(capsys, monkeypatch, command, b"", None)
        assert done.code == 0, done.err
        seconds = {user: _written_in(broker.client_config(user)) for user in ("bob", "ann")}
    assert seconds["bob"] < 2 * len(VALUE) * RECORDS / RATE / 4
    assert_limited(RECORDS, seconds["ann"])


def _written_in(config: dict[str, Any]) -> float:
    """Two producers of one user, with client ids of their own."""
    settings = {**config, "batch.size": 50_000}
    producers = [Producer({**settings, "client.id": f"producer-{number}"}) for number in range(2)]
    begin = time.monotonic()
    for number in range(RECORDS):
        producers[number % 2].produce("written", VALUE)
    assert [producer.flush(30) for producer in producers] == [0, 0]
    return time.monotonic() - begin
