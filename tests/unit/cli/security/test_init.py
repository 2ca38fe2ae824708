"""`tidelog security init`: what it writes, for its owner's eyes alone."""

import re
import stat
import sys
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.security.conftest import command
from tidelog.cli.exits import Exit
from tidelog.cli.security.certificate import certificate_in
from tidelog.cli.security.client_files import read_properties
from tidelog.metadata.security.bootstrap import Bootstrap
from tidelog.security.sasl.scram_credential import ScramCredential, ScramMechanism, is_password_of
from tidelog.security.tls.contexts import ClientAuth, TlsSettings, client_context, server_context
from tidelog.security.tls.material import StoreSettings


def settings_of(directory: Path, broker: int) -> dict[str, str]:
    return dict(yaml.safe_load((directory / f"broker-{broker}.yaml").read_text()))


def test_every_file_is_private(initialized: Path) -> None:
    assert stat.S_IMODE(initialized.stat().st_mode) == 0o700
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in initialized.iterdir()} == dict.fromkeys(
        [
            "admin.pem",
            *(f"broker-{id}.{kind}" for id in (1, 2, 3) for kind in ("pem", "yaml")),
            "ca.key",
            "ca.pem",
            "client-java.properties",
            "client.properties",
            "security.bootstrap",
            "spark-options.yaml",
            "token.key",
        ],
        0o600,
    )


def test_the_certificates_name_the_hosts_and_work_for_both_sides(initialized: Path) -> None:
    facts = certificate_in(initialized / "broker-2.pem")
    assert (facts.name, facts.hosts) == ("CN=broker-2", ("kafka-2.example", "10.0.0.2"))
    store = StoreSettings("ssl.keystore", str(initialized / "broker-2.pem"))
    trust = StoreSettings("ssl.truststore", str(initialized / "ca.pem"))
    server_context(TlsSettings(store, trust, ClientAuth.REQUIRED))
    client_context(TlsSettings(store, trust))


def test_the_settings_of_each_broker_are_those_of_a_secured_one(initialized: Path) -> None:
    settings = settings_of(initialized, 3)
    assert settings["delegation.token.secret.key"] == "${file:/etc/t/token.key}"
    assert settings["node.id"] == "3"
    voters = settings["controller.quorum.voters"].split(",")
    assert voters == [f"{id}@kafka-{id}.example:19092" for id in (1, 2, 3)]
    assert settings["listener.security.protocol.map"] == "CLIENTS:SASL_SSL,BROKERS:SSL"
    assert settings["inter.broker.listener.name"] == "BROKERS"
    assert settings["super.users"] == "User:admin;User:broker-1;User:broker-2;User:broker-3"
    assert settings["ssl.keystore.location"] == "/etc/t/broker-3.pem"


def test_the_clients_password_is_the_first_users(initialized: Path) -> None:
    properties = read_properties((initialized / "client.properties").read_text())
    assert properties["security.protocol"] == "SASL_SSL"
    assert properties["bootstrap.servers"].split(",")[2] == "kafka-3.example:9092"
    password = properties["sasl.password"]
    assert f'password="{password}";' in (initialized / "client-java.properties").read_text()
    assert yaml.safe_load((initialized / "spark-options.yaml").read_text())["kafka.sasl.password"] == password
    users = Bootstrap.load((initialized / "security.bootstrap").read_bytes(), "f")
    assert users.cluster_id == settings_of(initialized, 1)["cluster.id"]
    for record in users.credentials:
        mechanism = ScramMechanism.by_name(record.mechanism)
        assert mechanism is not None
        credential = ScramCredential(record.salt, record.iterations, record.stored_key, record.server_key)
        assert is_password_of(mechanism, credential, password)
    assert {record.mechanism for record in users.credentials} == {"SCRAM-SHA-256", "SCRAM-SHA-512"}


def test_an_authority_is_never_replaced(initialized: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (initialized / "ca.pem").read_bytes()
    assert command("security", "init", "--broker", "1=localhost", "--directory", initialized) == 4
    assert "tidelog security cert issue" in capsys.readouterr().err
    assert (initialized / "ca.pem").read_bytes() == before


@pytest.mark.parametrize(
    "options",
    [
        ["--broker", "localhost"],
        ["--broker", "1="],
        ["--broker", "1=a", "--broker", "1=b"],
        ["--broker", "1=a", "--user", "../x"],
        ["--broker", "1=a", "--user", "ca"],
        ["--broker", "1=a", "--user", "broker-2"],
    ],
)
def test_nothing_is_written_for_a_wrong_command_line(options: list[str], tmp_path: Path) -> None:
    directory = tmp_path / "security"
    assert command("security", "init", *options, "--directory", directory) == 2
    assert not directory.exists()


def test_no_password_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "security"
    assert command("security", "init", "--broker", "1=localhost", "--directory", directory) == 0
    password = read_properties((directory / "client.properties").read_text())["sasl.password"]
    assert re.fullmatch(r"[\w-]{32}", password)
    said = capsys.readouterr()
    assert password not in said.out + said.err


def test_without_the_extra_the_command_to_install_it_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    directory = tmp_path / "security"
    assert command("security", "init", "--broker", "1=localhost", "--directory", directory) == 1
    assert "pip install 'tidelog[secure]'" in capsys.readouterr().err
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("name", ["ca.key", "client.properties", "broker-1.yaml", "admin.pem"])
def test_files_of_others_are_not_overwritten(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An authority made by hand has a ca.key, too, and no ca.pem."""
    (tmp_path / name).write_text("precious")
    assert command("security", "init", "--broker", "1=a.example", "--directory", tmp_path) == Exit.EXISTS
    assert f"{tmp_path / name} exists already" in capsys.readouterr().err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "precious")]
