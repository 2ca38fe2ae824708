"""Every client with every mechanism that it has, over TLS, and without TLS once each."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.secured.broker import MECHANISMS, SecuredBroker
from tests.interop.secured.clients import AGENTS, PYTHON_CLIENTS, VALUES
from tests.interop.secured.conftest import Tool

PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", PYTHON_CLIENTS)
def test_python_clients(secured: SecuredBroker, topic_name: str, name: str, mechanism: str) -> None:
    assert PYTHON_CLIENTS[name](secured.login(mechanism), topic_name) == VALUES


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", AGENTS)
def test_agents(
    secured: SecuredBroker,
    open_client: Callable[[str], Any],
    topic_name: str,
    name: str,
    mechanism: str,
) -> None:
    values = [value.decode() for value in VALUES]
    got = open_client(name).secured(secured.login(mechanism)._asdict(), topic_name, values)
    assert got == values


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_java(secured: SecuredBroker, tool: Tool, topic_name: str, mechanism: str) -> None:
    lines = "".join(f"{value.decode()}\n" for value in VALUES)
    tool(secured.login(mechanism), PRODUCER, "--topic", topic_name, stdin=lines)
    wanted = ["--topic", topic_name, "--from-beginning", "--max-messages", str(len(VALUES))]
    printed = tool(secured.login(mechanism), CONSUMER, *wanted, "--timeout-ms", "20000")
    assert printed == lines


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_without_tls(secured: SecuredBroker, topic_name: str, mechanism: str) -> None:
    librdkafka = PYTHON_CLIENTS["librdkafka"]
    assert librdkafka(secured.login(mechanism, tls=False), topic_name) == VALUES
