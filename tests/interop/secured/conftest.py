"""The broker with SASL, a topic, and Kafka's Java tools with a login."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.agent import Agent
from tests.interop.drivers.java import ToolFailed, missing_tool
from tests.interop.kafka_jars import HERE, JVM, QUIET, compiled
from tests.interop.secured.broker import SecuredBroker, secured_broker
from tests.interop.secured.clients import Login

MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as running:
        yield running


@pytest.fixture(scope="session")
def java(secured: SecuredBroker) -> Iterator[Agent]:
    """A JVM that may read tokens for OAUTHBEARER from the file of these tests."""
    if (missing := missing_tool()) is not None:
        pytest.skip(missing)
    file = secured.directory / "token.jwt"
    allowed = [
        f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={file.as_uri()}",
        f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.files={file}",
    ]
    path = compiled(HERE / "java")
    agent = Agent([*JVM, "-Xmx256m", *QUIET, *allowed, "-cp", path, "Agent", secured.plain])
    yield agent
    agent.close()


Tool = Callable[..., str]


@pytest.fixture
def tool(java: Agent, secured: SecuredBroker, tmp_path: Path) -> Tool:
    """Runs a tool of Kafka's as a user."""

    def run(login: Login, name: str, *arguments: str, stdin: str = "", token: bool = False) -> str:
        config = tmp_path / "client.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in properties(secured, login, token)))
        given = ["--bootstrap-server", login.bootstrap, "--command-config", str(config), *arguments]
        answer: dict[str, Any] = java.ask("tool", **{"class": name, "arguments": given, "stdin": stdin})
        if answer["status"] != 0:
            raise ToolFailed(answer["output"] + answer["errors"])
        return str(answer["output"])

    return run


def properties(secured: SecuredBroker, login: Login, token: bool = False) -> Iterator[tuple[str, str]]:
    yield "security.protocol", "SASL_SSL" if login.ca else "SASL_PLAINTEXT"
    if login.ca:
        yield "ssl.truststore.type", "PEM"
        yield "ssl.truststore.location", login.ca
    yield "sasl.mechanism", login.mechanism
    options = "" if login.mechanism == "OAUTHBEARER" else _options(login, token)
    yield "sasl.jaas.config", f"{MODULES.get(login.mechanism, SCRAM)} required {options};"
    if login.mechanism == "OAUTHBEARER":
        file = secured.directory / "token.jwt"
        file.write_text(login.password)
        package = "org.apache.kafka.common.security.oauthbearer"
        yield "sasl.login.callback.handler.class", f"{package}.OAuthBearerLoginCallbackHandler"
        yield "sasl.oauthbearer.token.endpoint.url", file.as_uri()


def _options(login: Login, token: bool) -> str:
    given = f"username={json.dumps(login.username)} password={json.dumps(login.password)}"
    return f"{given} tokenauth=true" if token else given
