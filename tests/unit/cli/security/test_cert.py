"""`tidelog security cert`: issue, renew, show."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.security.conftest import command
from tidelog.cli.security.certificate import certificate_in


@pytest.fixture
def directory(initialized: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(initialized, tmp_path / "security"))


def shown(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, list)
    return found


def test_a_new_broker_gets_a_certificate(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hosts = ("--host", "kafka-4.example", "--host", "::1")
    assert (
        command("security", "cert", "issue", "--json", "--broker", 4, *hosts, "--directory", directory) == 0
    )
    [facts] = shown(capsys)
    assert facts["name"] == "CN=broker-4"
    assert facts["hosts"] == ["kafka-4.example", "::1"]
    assert facts["issuer"] == "CN=Tidelog authority"


def test_only_what_ends_soon_is_renewed(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("security", "cert", "issue", "--client", "bob", "--days", 5, "--directory", directory) == 0
    before = {path.name: path.read_bytes() for path in directory.glob("*.pem")}
    capsys.readouterr()
    assert command("security", "cert", "renew", "--json", "--directory", directory) == 0
    [facts] = shown(capsys)
    assert facts["name"] == "CN=bob"
    assert facts["days_left"] > 300
    changed = {path.name for path in directory.glob("*.pem") if path.read_bytes() != before[path.name]}
    assert changed == {"bob.pem"}


def test_a_renewed_certificate_keeps_name_and_hosts(directory: Path) -> None:
    path = directory / "broker-1.pem"
    before = path.read_bytes()
    assert command("security", "cert", "renew", "broker-1", "--directory", directory) == 0
    assert path.read_bytes() != before
    assert certificate_in(path).hosts == ("kafka-1.example", "10.0.0.1")


def test_show_lists_the_directory(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("security", "cert", "show", "--json", "--directory", directory) == 0
    names = [facts["name"] for facts in shown(capsys)]
    assert names == ["CN=Tidelog authority", "CN=admin", "CN=broker-1", "CN=broker-2", "CN=broker-3"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 2),
        (["--broker", "1", "--client", "x"], 2),
        (["--broker", "1"], 2),
        (["--client", "../x"], 2),
        (["--client", "broker-9"], 2),
        (["--client", "ca"], 2),
    ],
)
def test_wrong_command_lines(options: list[str], code: int, directory: Path) -> None:
    before = sorted(directory.iterdir())
    assert command("security", "cert", "issue", *options, "--directory", directory) == code
    assert sorted(directory.iterdir()) == before


def test_without_an_authority(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("security", "cert", "issue", "--client", "x", "--directory", tmp_path) == 3
    assert "tidelog security init" in capsys.readouterr().err
    assert command("security", "cert", "show", "--directory", tmp_path) == 3
