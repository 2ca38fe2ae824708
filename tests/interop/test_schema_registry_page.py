"""docs/schema-registry.md: its commands and its Python run as they stand, but for addresses."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from tests.interop.command_line import console_commands, run_here
from tests.rigs.repository import ROOT
from tidelog.testing import Broker

PAGE = ROOT / "docs" / "schema-registry.md"
COMMANDS = console_commands(PAGE)
PYTHON = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
OF_THE_TOPIC = [command for command in COMMANDS if "_schemas" in command]
OF_IMPORTS = [command for command in COMMANDS if command.startswith("tidelog schema import")]
OLD = "ids-of-the-old-registry"


@pytest.fixture(scope="module")
def old_registry() -> Iterator[Broker]:
    with Broker() as running:
        with SchemaRegistryClient({"url": running.schema_registry_url}) as client:
            client.set_compatibility(f"{OLD}-8", "FULL")
            for number in range(9):  # so that its last ids are new to the registry of the page
                client.register_schema(f"{OLD}-{number}", Schema(f'{{"title":"{number}"}}', "JSON"))
        yield running


class Page:
    """The page's files in a directory, and its addresses as they are here."""

    def __init__(self, directory: Path, addresses: dict[str, str]) -> None:
        self._addresses = addresses
        for name, text in re.findall(r"`([\w.-]+)`:\n\n```json\n(.*?)```", PAGE.read_text(), re.DOTALL):
            (directory / name).write_text(text)

    def adapted(self, text: str) -> str:
        for address, actual in self._addresses.items():
            text = text.replace(address, actual)
        return text


def run(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, stdin: bytes = b""
) -> str:
    program, *arguments = shlex.split(command)
    if program == "curl":
        return subprocess.run(["curl", "-sSf", *arguments], capture_output=True, text=True, check=True).stdout
    done = run_here(capsys, monkeypatch, arguments, stdin, None)
    assert done.code == 0, f"{command}: {done.out}{done.err}"
    return str(done.out)


def test_the_commands_and_the_python_run(
    tmp_path: Path,
    tidelog_broker: Broker,
    old_registry: Broker,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDELOG_BOOTSTRAP_SERVERS", tidelog_broker.bootstrap_servers)
    monkeypatch.setenv("TIDELOG_SCHEMA_REGISTRY", tidelog_broker.schema_registry_url)
    page = Page(
        tmp_path,
        {
            "http://old-registry:8081": old_registry.schema_registry_url,
            "http://localhost:8081": tidelog_broker.schema_registry_url,
            "localhost:9092": tidelog_broker.bootstrap_servers,
        },
    )
    printed = {}
    for command in COMMANDS:
        if command not in (*OF_THE_TOPIC, *OF_IMPORTS):
            printed[command] = run(page.adapted(command), capsys, monkeypatch)
        if command == "tidelog schema diff orders-value":
            for code in PYTHON:
                subprocess.run([sys.executable, "-c", page.adapted(code)], check=True, timeout=60)
    assert len(printed) >= 20
    assert '"customer"' in printed["tidelog consume orders"]
    assert "city" in printed["tidelog schema diff orders-value"]
    assert "FULL" in printed["curl http://localhost:8081/config/orders-value"]
    assert "orders-value" in printed["curl http://localhost:8081/contexts/.staging/subjects"]
    assert (tmp_path / "schemas").is_dir()


def test_a_registry_moves_by_its_api(
    old_registry: Broker,
    tidelog_broker: Broker,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = tidelog_broker.schema_registry_url
    monkeypatch.setenv("TIDELOG_SCHEMA_REGISTRY", url)
    for command in OF_IMPORTS:
        adapted = command.replace("http://old-registry:8081", old_registry.schema_registry_url)
        run(adapted.replace("http://localhost:8081", url), capsys, monkeypatch)
    for place in (url, f"{url}/contexts/.old"):
        with SchemaRegistryClient({"url": place}) as moved:
            assert moved.get_latest_version(f"{OLD}-8").schema_id == 9
            assert moved.get_compatibility(f"{OLD}-8") == "FULL"


def test_a_registry_moves_with_its_topic(
    old_registry: Broker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with Broker(settings={"schema.registry.port": 0}, data_dir=tmp_path) as new:
        monkeypatch.setenv("TIDELOG_BOOTSTRAP_SERVERS", new.bootstrap_servers)
        places = {"old-broker:9092": old_registry.bootstrap_servers, "new-broker:9092": new.bootstrap_servers}
        for command in OF_THE_TOPIC:
            copied = ""
            for part in command.split(" | "):
                adapted = re.sub("|".join(places), lambda found: places[found[0]], part)
                copied = run(adapted, capsys, monkeypatch, copied.encode())
    with (
        Broker(data_dir=tmp_path) as served,
        SchemaRegistryClient({"url": served.schema_registry_url}) as moved,
    ):
        assert moved.get_latest_version(f"{OLD}-8").schema_id == 9
        assert moved.get_compatibility(f"{OLD}-8") == "FULL"
        assert moved.register_schema(OLD, Schema('{"title":"next"}', "JSON")) == 10
