"""Clients of users with few permissions: refusals about groups and transactions surface as such."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from tests.interop.drivers.java import ToolFailed
from tidelog.cli.exits import Exit
from tidelog.cli.main import run
from tidelog.testing import Broker, Security

TOPIC, SECRET, GROUP = "orders", "secret", "readers"
ACLS = [
    ("ann", "READ", "TOPIC", TOPIC),
    ("ann", "WRITE", "TOPIC", TOPIC),
    ("ann", "READ", "GROUP", GROUP),
    ("ann", "WRITE", "TRANSACTIONAL_ID", "ann-*"),
]
PROTOCOLS = ["classic", "consumer"]


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    security = Security("sasl_plaintext", "SCRAM-SHA-256", users=["ann"], acls=ACLS)
    with Broker(security=security, settings={"group.initial.rebalance.delay.ms": 0}) as broker:
        admin = Producer(broker.client_config("admin"))
        for topic in (TOPIC, SECRET):
            admin.produce(topic, b"1")
        admin.flush(20)
        yield broker


def consumer(broker: Broker, group: str, protocol: str) -> Consumer:
    config = broker.client_config("ann") | {
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
    }
    if protocol == "classic":
        config |= {"heartbeat.interval.ms": 300, "session.timeout.ms": 6000}
    return Consumer(config)


def error_of(client: Consumer, seconds: float = 20) -> str:
    """The first error that the consumer gets, or an empty text after this time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        message = client.poll(0.2)
        if message is not None and message.error() is not None:
            return str(message.error().name())
    return ""


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_of_others(secured: Broker, protocol: str) -> None:
    client = consumer(secured, "others", protocol)
    client.subscribe([TOPIC])
    assert error_of(client) == "GROUP_AUTHORIZATION_FAILED"
    client.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_topic_of_others(secured: Broker, protocol: str) -> None:
    client = consumer(secured, GROUP, protocol)
    client.subscribe([SECRET])
    assert error_of(client) == "TOPIC_AUTHORIZATION_FAILED"
    client.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_member_whose_permission_is_revoked(
    secured: Broker, protocol: str, capsys: pytest.CaptureFixture[str]
) -> None:
    group = f"night-{protocol}"
    acl = ["--principal", "User:ann", "--operation", "read", "--group", group]
    tidelog(secured, "acl", "add", *acl)
    client = consumer(secured, group, protocol)
    client.subscribe([TOPIC])
    message = client.poll(20)
    assert message is not None
    assert message.error() is None
    tidelog(secured, "acl", "remove", *acl)
    # A member of the new protocol cannot go on without its heartbeats, and librdkafka says so.
    assert error_of(client) in ("GROUP_AUTHORIZATION_FAILED", "_FATAL")
    client.close()


def test_a_transactional_id_of_others(secured: Broker) -> None:
    config = secured.client_config("ann")
    allowed = Producer(config | {"transactional.id": "ann-1"})
    allowed.init_transactions(20)
    allowed.begin_transaction()
    allowed.produce(TOPIC, b"2")
    allowed.commit_transaction(20)
    refused = Producer(config | {"transactional.id": "bob-1"})
    with pytest.raises(KafkaException) as caught:
        refused.init_transactions(20)
    assert caught.value.args[0].name() == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"


def test_java_says_the_same(secured: Broker, open_client: Callable[[str], Any], tmp_path: Path) -> None:
    java = open_client("java")
    file = tmp_path / "ann.properties"
    file.write_text("".join(f"{k}={v}\n" for k, v in secured.client_config("ann", "java").items()))
    servers = ("--bootstrap-server", secured.bootstrap_servers, "--command-config", str(file))
    console = "org.apache.kafka.tools.consumer.ConsoleConsumer"
    read = java.tool(
        console, *servers, "--topic", TOPIC, "--group", GROUP, "--from-beginning", "--max-messages", "1"
    )
    assert read.startswith("1")
    assert java.tool(console, *servers, "--topic", TOPIC, "--group", "others", "--timeout-ms", "9000") == ""
    groups = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    assert "GroupAuthorizationException" in java.tool(groups, *servers, "--describe", "--group", "others")
    with pytest.raises(ToolFailed, match="failed due to authorization failure"):
        java.tool(
            "org.apache.kafka.tools.TransactionsCommand",
            *servers,
            "describe",
            "--transactional-id",
            "bob-1",
        )


def tidelog(broker: Broker, *arguments: str) -> None:
    options: list[str] = []
    for name, value in broker.client_config("admin").items():
        options += ["-b", str(value)] if name == "bootstrap.servers" else ["-X", f"{name}={value}"]
    assert run([*arguments, *options]) == Exit.OK
