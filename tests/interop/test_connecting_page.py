"""docs/connecting.md: its examples run as they stand, but for addresses and files."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.agent import Agent
from tests.interop.drivers import java, kafkajs
from tests.interop.kafka_jars import HERE, JVM, QUIET, compiled
from tidelog import Admin
from tidelog.testing import Broker, Security

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "connecting.md").read_text()
PASSWORD = "ann-secret"
PORTS = {
    "broker.example:9093": "sasl_ssl",
    "broker.example:9094": "ssl",
    "broker.example:9095": "sasl_plaintext",
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


class Place:
    """A directory with the files that the page names, beside running brokers."""

    def __init__(self, directory: Path, brokers: dict[str, Broker]) -> None:
        self.directory = directory
        self._addresses = {
            address: brokers[protocol].bootstrap_servers for address, protocol in PORTS.items()
        }
        self._authorities: dict[str, str] = {}
        for protocol in ("ssl", "sasl_ssl"):
            config = brokers[protocol].client_config("ann")
            self._authorities[protocol] = config["ssl.ca.location"]
            if protocol == "ssl":
                shutil.copy(config["ssl.key.location"], directory / "ann.pem")

    def adapted(self, text: str) -> str:
        protocol = "ssl" if "broker.example:9094" in text else "sasl_ssl"
        shutil.copy(self._authorities[protocol], self.directory / "ca.pem")
        for address, actual in self._addresses.items():
            text = text.replace(address, actual)
        return text

    def run(self, command: list[str], **environment: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.directory,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    def secured(protocol: str) -> Broker:
        return Broker(security=Security(protocol, users={"ann": PASSWORD}))

    with secured("ssl") as tls, secured("sasl_plaintext") as sasl, secured("sasl_ssl") as both:
        brokers = {"ssl": tls, "sasl_plaintext": sasl, "sasl_ssl": both}
        for broker in brokers.values():
            with Admin(broker.client_config()) as admin:
                admin.create_topic("orders")
        yield Place(tmp_path_factory.mktemp("connecting"), brokers)


@pytest.mark.parametrize("example", [each for each in blocks("python") if "spark." not in each])
def test_python(place: Place, example: str) -> None:
    place.run([sys.executable, "-c", place.adapted(example)])


def test_the_command_line(place: Place, tmp_path: Path) -> None:
    [commands] = blocks("sh")
    (place.directory / "client.properties").write_text(place.adapted(blocks("properties")[0]))
    script = place.adapted(commands)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    shown = place.run(
        ["sh", "-ec", script],
        PATH=path,
        XDG_CONFIG_HOME=str(tmp_path),
        ANN_PASSWORD=PASSWORD,
        TIDELOG_CONTEXT="",
    )
    assert shown.count("orders ") == 2
    assert "${env:ANN_PASSWORD}" in shown


def test_java(place: Place) -> None:
    if (missing := java.missing_tool()) is not None:
        pytest.skip(missing)
    agent = Agent([*JVM, "-Xmx256m", *QUIET, "-cp", compiled(HERE / "java"), "Agent", "localhost:1"])
    try:
        for text in blocks("properties"):
            properties = place.adapted(text)
            for file in ("ca.pem", "ann.pem"):
                properties = properties.replace(f"={file}", f"={place.directory / file}")
            config = place.directory / "java.properties"
            config.write_text(properties)
            [servers] = re.findall(r"bootstrap\.servers=(.*)", properties)
            answer = agent.ask(
                "tool",
                **{
                    "class": "org.apache.kafka.tools.TopicCommand",
                    "arguments": ["--bootstrap-server", servers, "--command-config", str(config), "--list"],
                    "stdin": "",
                },
            )
            assert answer["status"] == 0, answer["errors"]
            assert "orders" in answer["output"]
    finally:
        agent.close()


def test_kafkajs(place: Place) -> None:
    [example] = blocks("js")
    if (missing := kafkajs.missing_tool()) is not None:
        pytest.skip(missing)
    environment = {"NODE_PATH": str(kafkajs.installed()), "KAFKAJS_NO_PARTITIONER_WARNING": "1"}
    place.run(["node", "-e", place.adapted(example)], **environment)


def test_franz_go_s_lines_are_those_that_are_run() -> None:
    [example] = blocks("go")
    code = {line.strip() for line in (ROOT / "tests/interop/franz_go/secured.go").read_text().splitlines()}
    assert {line.strip() for line in example.splitlines()} <= code
