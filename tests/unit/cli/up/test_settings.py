"""Flags over environment over file; and why a broker did not start."""

import errno
import os
from pathlib import Path

import pytest

from tidelog.base.errors import StorageError
from tidelog.base.listener import Listener
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.up.banner import banner
from tidelog.cli.up.failures import start_failure
from tidelog.cli.up.settings import broker_config
from tidelog.server.listener import ListenError


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("TIDELOG_")]:
        monkeypatch.delenv(name)


def test_the_data_is_in_the_directory_data_unless_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert broker_config(None, None, None, {}).list("log.dirs") == (str(tmp_path / "data"),)
    assert broker_config(None, "mine", None, {}).list("log.dirs") == (str(tmp_path / "mine"),)
    monkeypatch.setenv("TIDELOG_LOG_DIRS", "/a,/b")
    assert broker_config(None, None, None, {}).list("log.dirs") == ("/a", "/b")


def test_the_port_changes_and_the_host_stays(tmp_path: Path) -> None:
    file = tmp_path / "broker.yaml"
    file.write_text("listeners: PLAINTEXT://192.0.2.1:9000\n")
    assert str(broker_config(str(file), None, 7, {}).listeners()[0]) == "PLAINTEXT://192.0.2.1:7"
    assert str(broker_config(None, None, None, {}).listeners()[0]) == "PLAINTEXT://localhost:9092"


def test_a_port_for_two_listeners_is_refused() -> None:
    with pytest.raises(CliError, match="between 2 listeners"):
        broker_config(None, None, 7, {"listeners": "A://localhost:1,B://localhost:2"})


def test_a_flag_beats_the_environment_and_the_environment_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "broker.yaml"
    file.write_text("num.partitions: 2\n")
    assert broker_config(str(file), None, None, {}).int("num.partitions") == 2
    monkeypatch.setenv("TIDELOG_NUM_PARTITIONS", "3")
    assert broker_config(str(file), None, None, {}).int("num.partitions") == 3
    assert broker_config(str(file), None, None, {"num.partitions": "4"}).int("num.partitions") == 4


def test_a_bad_value_leads_to_its_explanation() -> None:
    with pytest.raises(CliError, match=r"num\.partitions") as caught:
        broker_config(None, None, None, {"num.partitions": "many"})
    assert caught.value.code is Exit.USAGE
    assert caught.value.attempt == "tidelog config explain num.partitions"


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(CliError) as caught:
        broker_config(str(tmp_path / "nope.yaml"), None, None, {})
    assert caught.value.code in (Exit.NOT_FOUND, Exit.USAGE)
    assert "nope.yaml" in caught.value.message


def listening(number: int) -> ListenError:
    error = ListenError("cannot listen")
    error.__cause__ = OSError(number, "why")
    return error


@pytest.mark.parametrize(
    ("error", "message", "attempt"),
    [
        (listening(errno.EADDRINUSE), "the port is taken", "--port 9093"),
        (listening(errno.EACCES), "permission denied", "--port 9092"),
        (PermissionError(errno.EACCES, "Permission denied", "/data/x"), "Cannot use /data/x", "--data DIR"),
    ],
)
def test_a_failed_start_is_explained(error: Exception, message: str, attempt: str) -> None:
    shown = start_failure(error, broker_config(None, None, None, {}))
    assert message in shown.message
    assert attempt in (shown.attempt or "")


FACTS = {"node_id": 1, "voters": [1], "data": ["/var/lib/tidelog"], "durability": "fsync"}


def test_the_banner_gives_commands_that_reach_this_broker() -> None:
    facts = {**FACTS, "bootstrap_servers": "localhost:9999"}
    text = banner(facts, ["mind the gap"], started_s=0.214)
    assert "after 0.21 s" in text
    assert "/var/lib/tidelog" in text
    assert text.count("-b localhost:9999") == 3
    assert "mind the gap" in text
    assert "-b" not in banner({**facts, "bootstrap_servers": "localhost:9092"}, [], None)


def test_two_words_about_the_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="both name the log dir") as caught:
        broker_config(None, str(tmp_path), None, {"log.dirs": "/elsewhere"})
    assert caught.value.code is Exit.USAGE


def test_a_name_like_no_other_leads_to_the_list() -> None:
    with pytest.raises(CliError, match=r"broker\.shelf") as caught:
        broker_config(None, None, None, {"broker.shelf": "a"})
    assert "config show broker --all" in (caught.value.attempt or "")


def test_a_directory_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: path != str(tmp_path))
    config = broker_config(None, str(tmp_path / "not" / "there"), None, {})
    shown = start_failure(StorageError("no"), config)
    assert "may not write" in (shown.cause or "")
    assert "--data DIR" in (shown.attempt or "")


@pytest.mark.parametrize("setting", ["metrics.port", "schema.registry.port"])
def test_a_taken_port_for_http_is_named_by_its_setting(setting: str) -> None:
    config = broker_config(None, "/data", None, {setting: "8100"})
    error = ListenError(
        "cannot listen on HTTP://localhost:8100: it is in use", Listener("HTTP", "localhost", 8100)
    )
    error.__cause__ = OSError(errno.EADDRINUSE, "in use")
    told = start_failure(error, config)
    assert "HTTP://localhost:8100" in told.message
    assert f"--set {setting}=8101" in str(told.attempt)
