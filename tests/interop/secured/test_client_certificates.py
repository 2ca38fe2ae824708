"""Clients with and without certificates on listeners that ask for none, may have one, or demand one.

Only User:alice may do anything here, and her name comes out of the certificate by a mapping rule; so what a
client can do shows which principal it has.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.agent import Agent
from tests.interop.drivers.java import ToolFailed
from tests.rigs.certificates import CertificateFiles
from tidelog.base.settings.authorization import STANDARD_AUTHORIZER
from tidelog.server.free_ports import free_ports
from tidelog.testing import Broker

MODES = ("none", "requested", "required")
PATIENCE_S = 20
DENIED, NOT_LET_IN, DONE = "denied", "not let in", "done"


class TlsBroker(NamedTuple):
    files: CertificateFiles
    addresses: dict[str, str]

    def certificate(self, name: str | None) -> str | None:
        if name is None:
            return None
        path = self.files.directory / f"{name}.pem"
        return str(path) if path.exists() else self.files.issue(name, organization="Example")


@pytest.fixture(scope="module")
def tls_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsBroker]:
    files = CertificateFiles(tmp_path_factory.mktemp("certificates"))
    ports = dict(zip(MODES, free_ports("127.0.0.1", len(MODES)), strict=True))
    settings = {
        "listeners": ["PLAINTEXT://localhost:0", *(f"{mode}://localhost:{ports[mode]}" for mode in MODES)],
        "listener.security.protocol.map": ["PLAINTEXT:PLAINTEXT", *(f"{mode}:SSL" for mode in MODES)],
        "inter.broker.listener.name": "PLAINTEXT",
        **files.settings(files.issue("broker")),
        **{f"listener.name.{mode}.ssl.client.auth": mode for mode in MODES},
        "ssl.principal.mapping.rules": "RULE:^CN=([a-z]+),O=Example$/$1/L,DEFAULT",
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:alice",
    }
    with Broker(settings=settings):
        yield TlsBroker(files, {mode: f"localhost:{port}" for mode, port in ports.items()})


EXPECTED = [
    ("none", None, DENIED),
    ("none", "alice", DENIED),  # not asked for, so not shown
    ("requested", None, DENIED),
    ("requested", "alice", DONE),
    ("requested", "bob", DENIED),
    ("required", None, NOT_LET_IN),
    ("required", "alice", DONE),
    ("required", "bob", DENIED),
]


@pytest.mark.parametrize(("mode", "name", "expected"), EXPECTED)
def test_librdkafka(
    tls_broker: TlsBroker, topic_name: str, mode: str, name: str | None, expected: str
) -> None:
    properties = {
        "bootstrap.servers": tls_broker.addresses[mode],
        "security.protocol": "ssl",
        "ssl.ca.location": tls_broker.files.trusted,
        "log_level": 0,
    }
    own = tls_broker.certificate(name)
    if own is not None:
        properties |= {"ssl.certificate.location": own, "ssl.key.location": own}
    assert create_and_use(properties, topic_name) == expected


def create_and_use(properties: dict[str, object], topic: str) -> str:
    errors: list[str] = []
    admin = AdminClient({**properties, "error_cb": lambda error: errors.append(str(error))})
    [created] = admin.create_topics([NewTopic(topic, 1, 1)], operation_timeout=PATIENCE_S).values()
    for _ in range(PATIENCE_S * 10):
        admin.poll(0.1)
        if created.done() or any("SSL" in error for error in errors):
            break
    if not created.done():
        return NOT_LET_IN
    try:
        created.result()
    except KafkaException as error:
        return DENIED if "AUTHORIZATION_FAILED" in str(error) else str(error)
    producer = Producer(properties)
    producer.produce(topic, b"over TLS")
    assert producer.flush(PATIENCE_S) == 0
    consumer = Consumer({**properties, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    record = consumer.poll(PATIENCE_S)
    consumer.close()
    assert record is not None
    assert record.value() == b"over TLS"
    return DONE


@pytest.fixture
def java_tool(tls_broker: TlsBroker, java: Agent, tmp_path: Path) -> Callable[..., str]:
    """Runs a tool of Kafka's on a listener with a certificate."""

    def run(mode: str, name: str | None, command: str, *arguments: str, stdin: str = "") -> str:
        config = tmp_path / "client.properties"
        lines = ["security.protocol=SSL", "ssl.truststore.type=PEM"]
        lines.append(f"ssl.truststore.location={tls_broker.files.trusted}")
        own = tls_broker.certificate(name)
        if own is not None:
            lines += ["ssl.keystore.type=PEM", f"ssl.keystore.location={own}"]
        config.write_text("\n".join(lines))
        given = ["--bootstrap-server", tls_broker.addresses[mode], "--command-config", str(config)]
        answer = java.ask("tool", **{"class": command, "arguments": [*given, *arguments], "stdin": stdin})
        if answer["status"] != 0:
            raise ToolFailed(answer["output"] + answer["errors"])
        return str(answer["output"])

    return run


@pytest.mark.parametrize(("mode", "name", "expected"), EXPECTED)
def test_java(
    java_tool: Callable[..., str], topic_name: str, mode: str, name: str | None, expected: str
) -> None:
    assert use_tools(partial(java_tool, mode, name), topic_name) == expected


def use_tools(tool: Callable[..., str], topic: str) -> str:
    try:
        tool("org.apache.kafka.tools.TopicCommand", "--create", "--topic", topic)
    except ToolFailed as failure:
        said = str(failure)
        if "SslAuthenticationException" in said or "SSL handshake failed" in said:
            return NOT_LET_IN
        return DENIED if "Authorization" in said else said
    tool("org.apache.kafka.tools.ConsoleProducer", "--topic", topic, stdin="over TLS\n")
    wanted = ["--topic", topic, "--from-beginning", "--max-messages", "1", "--timeout-ms", "20000"]
    assert tool("org.apache.kafka.tools.consumer.ConsoleConsumer", *wanted) == "over TLS\n"
    return DONE
