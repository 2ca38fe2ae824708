"""The security of a cluster of `tidelog up --secure`: made once, kept, and made again where it must."""

import json
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidelog.base.config.config import BrokerConfig, load
from tidelog.base.listener import Listener
from tidelog.cli.context.store import contexts_path, read_contexts
from tidelog.cli.exits import CliError
from tidelog.cli.security.certificate import certificate_in
from tidelog.cli.security.client_files import read_properties
from tidelog.cli.security.issuing import issue, open_authority
from tidelog.cli.security.local import LocalBroker, LocalSecurity, refuse_own_settings
from tidelog.cli.security.secured_settings import without_own
from tidelog.cli.security.secured_state import SecuredState, is_secured
from tidelog.cli.up.banner import security_lines
from tidelog.metadata.security.bootstrap import Bootstrap


@pytest.fixture(autouse=True)
def own_contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return iter(())


def brokers(data: Path, count: int = 3, *, host: str = "localhost") -> list[LocalBroker]:
    return [LocalBroker(id, str(data / f"node-{id}"), host, id <= 3) for id in range(1, count + 1)]


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    security = LocalSecurity(str(data))
    security.prepare(brokers(data), "the-cluster")
    security.write_client_files("localhost:9092")
    return data


def test_a_new_cluster_gets_one_bootstrap_file_for_all_voters(data: Path) -> None:
    files = [data / f"node-{id}" / "security.bootstrap" for id in (1, 2, 3)]
    assert len({file.read_bytes() for file in files}) == 1
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    users = Bootstrap.load(files[0].read_bytes(), "f")
    assert (users.cluster_id, {record.user for record in users.credentials}) == ("the-cluster", {"admin"})
    assert is_secured(str(data))


def test_a_second_start_reuses_everything(data: Path) -> None:
    before = contents(data / "security")
    again = LocalSecurity(str(data))
    again.prepare(brokers(data), "the-cluster")
    again.write_client_files("localhost:9092")
    assert contents(data / "security") == before


def test_a_cluster_with_data_gets_no_bootstrap_file(tmp_path: Path) -> None:
    data = tmp_path / "plain"
    (data / "node-2").mkdir(parents=True)
    (data / "node-2" / "meta.properties").touch()
    LocalSecurity(str(data)).prepare(brokers(data), "c")
    assert not list(data.glob("node-*/security.bootstrap"))


def test_a_new_broker_gets_its_certificate_and_old_ones_stay(data: Path) -> None:
    before = contents(data / "security")
    LocalSecurity(str(data)).prepare(brokers(data, 4))
    after = contents(data / "security")
    assert after.keys() - before.keys() == {"broker-4.pem"}
    assert {name for name in before if after[name] != before[name]} == set()


def test_certificates_that_end_soon_or_lack_a_host_are_issued_again(data: Path) -> None:
    files = LocalSecurity(str(data)).files
    issue(files, open_authority(files), "broker-1", ("localhost", "127.0.0.1", "::1"), days=5)
    LocalSecurity(str(data)).prepare(brokers(data))
    assert certificate_in(files.certificate("broker-1")).days_left(certificate_in(files.ca).begins) > 300
    LocalSecurity(str(data)).prepare(brokers(data, host="my-host"))
    assert certificate_in(files.certificate("broker-2")).hosts[0] == "my-host"


def test_the_authoritys_key_is_needed_for_new_certificates_only(data: Path) -> None:
    (data / "security" / "ca.key").unlink()
    LocalSecurity(str(data)).prepare(brokers(data))
    with pytest.raises(CliError, match=r"ca\.key"):
        LocalSecurity(str(data)).prepare(brokers(data, 4))


def test_a_directory_that_was_moved_gets_its_paths_corrected(data: Path, tmp_path: Path) -> None:
    moved = data.rename(tmp_path / "moved")
    LocalSecurity(str(moved)).write_client_files("localhost:9092")
    for name in ("client.properties", "client-java.properties", "spark-options.yaml"):
        assert f"{moved}/security/ca.pem" in (moved / "security" / name).read_text()


def test_ports_stay_the_same(data: Path) -> None:
    security = LocalSecurity(str(data))
    ports = security.choose_ports([0, 0, 0])
    assert len(set(ports)) == 3
    security.prepare(brokers(data))
    assert LocalSecurity(str(data)).choose_ports([9092, 9093, 9094]) == ports


def test_another_address_changes_the_client_files_and_keeps_the_password(data: Path) -> None:
    security = LocalSecurity(str(data))
    before = read_properties(security.files.client.read_text())
    security.write_client_files("localhost:1234")
    after = read_properties(security.files.client.read_text())
    assert after == before | {"bootstrap.servers": "localhost:1234"}
    assert "localhost:1234" in security.files.java_client.read_text()
    assert "localhost:1234" in security.files.spark_options.read_text()


def test_the_context_names_the_file_in_the_place_of_the_password(data: Path, tmp_path: Path) -> None:
    security = LocalSecurity(str(data))
    security.write_client_files("localhost:9092")
    assert security.context == "local"
    password = read_properties(security.files.client.read_text())["sasl.password"]
    assert password not in contexts_path().read_text()
    assert read_contexts(contexts_path()).current is None
    other = LocalSecurity(str(tmp_path / "other"))
    other.prepare(brokers(tmp_path / "other"))
    other.write_client_files("localhost:9095")
    assert other.context == "local-2"
    assert read_contexts(contexts_path()).of("local").properties["bootstrap.servers"] == "localhost:9092"


def test_brokers_need_no_home_directory(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (data / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(data / "file"))
    security = LocalSecurity(str(data))
    security.write_client_files("localhost:9092")
    assert security.facts() == {"security": str(data / "security"), "user": "admin"}
    [line] = [line for line in security_lines(security.facts()) if "context add" in line]
    assert f"--from {data}/security/client.properties" in line


def test_a_person_may_choose_where_the_audit_goes() -> None:
    settings = {"audit.file": "ours", "super.users": "ours"}
    assert without_own(settings, BrokerConfig()) == settings
    own = load(flags={"audit.file": "/theirs", "super.users": "theirs"})
    assert without_own(settings, own) == {"super.users": "ours"}


def test_the_settings_are_those_of_a_broker(data: Path) -> None:
    clients = Listener("PLAINTEXT", "localhost", 9092)
    settings = LocalSecurity(str(data)).settings_of(2, clients, clients, 19092, [1, 2, 3])
    config = load(flags=settings)
    assert {name: protocol.value for name, protocol in config.security_protocols().items()} == {
        "CLIENTS": "SASL_SSL",
        "BROKERS": "SSL",
    }
    assert config.for_listener("BROKERS").text("ssl.client.auth") == "required"
    assert config.for_listener("CLIENTS").text("ssl.client.auth") == "none"
    assert not any("password" in name for name in settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"super.users": "User:x"},
        {"ssl.keystore.location": "x"},
        {"listeners": "PLAINTEXT://:9092,X://:9093", "advertised.listeners": "PLAINTEXT://a:9092,X://a:9093"},
    ],
)
def test_settings_of_ones_own_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(CliError, match="--secure"):
        refuse_own_settings(load(flags=settings))
    refuse_own_settings(BrokerConfig())


def test_a_damaged_state_is_not_guessed_at(data: Path) -> None:
    (data / "security" / "secured.json").write_text(json.dumps({"broker_ports": 3}))
    with pytest.raises(CliError, match="cannot be understood"):
        LocalSecurity(str(data))


def test_a_lost_authority_takes_its_certificates_with_it(data: Path) -> None:
    security = LocalSecurity(str(data))
    before = contents(security.files.path)
    security.files.ca.unlink()
    security.prepare(brokers(data))
    after = contents(security.files.path)
    assert all(after[f"{name}.pem"] != before[f"{name}.pem"] for name in ("ca", "admin", "broker-1"))


def test_a_broker_alone_moves_away_from_a_port_that_was_taken(data: Path) -> None:
    security = LocalSecurity(str(data))
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()
        taken = other.getsockname()[1]
        security.state = SecuredState((taken, 1, 2))
        assert security.choose_ports([9092, 9093, 9094]) == [taken, 1, 2]
        security.state = SecuredState((taken,))
        [port] = security.choose_ports([9092])
        assert port != taken
    assert security.choose_ports([9092]) == [port]
