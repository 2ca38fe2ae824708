"""The steps of an installation, and the unit: that of the repository, and those of other settings."""

import re
from pathlib import Path

import pytest

from tidelog.base.config.config import load
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.main import run
from tidelog.cli.service import machine
from tidelog.cli.service.plan import RunCommand, WriteFile, plan_install, plan_uninstall
from tidelog.cli.service.unit import STOP_TIMEOUT_S, UNIT_PATH, Service, unit_text

UNIT = Path(__file__).parents[4] / "deploy" / "systemd" / "tidelog.service"


def test_the_unit_of_the_repository_is_that_of_the_defaults() -> None:
    assert UNIT.read_text() == unit_text(Service("/usr/local/bin/tidelog"))


def test_a_broker_starts_after_the_time_service() -> None:
    [after] = [line for line in UNIT.read_text().splitlines() if line.startswith("After=")]
    assert "time-sync.target" in after


def test_systemd_waits_longer_than_a_broker_takes_to_stop() -> None:
    config = load()
    drain_ms = config.int("controlled.shutdown.timeout.ms") + config.int("shutdown.grace.ms")
    assert drain_ms * 3 <= STOP_TIMEOUT_S * 1000


def test_directories_elsewhere_are_writable_and_a_single_broker_runs_up() -> None:
    disks = ("/disk1", "/disk2")
    text = unit_text(
        Service("/opt/tidelog", user="kafka", alone=True, writable=disks, first_log_dir=disks[0])
    )
    assert "\nRequiresMountsFor=/var/lib/tidelog /disk1\n" in text
    assert "ExecStart=/opt/tidelog up --config /etc/tidelog/broker.yaml\n" in text
    assert re.findall(r"^ReadWritePaths=(.*)$", text, re.MULTILINE) == ["/disk1", "/disk2"]
    assert "User=kafka\nGroup=kafka\n" in text


def test_the_first_settings_are_valid_and_never_overwrite_others() -> None:
    steps = plan_install(Service("/usr/bin/tidelog"), None, enable=True)
    [settings] = [step for step in steps if isinstance(step, WriteFile) and step.path.endswith(".yaml")]
    assert settings.keep
    names = re.findall(r"^#? ?([a-z.]+): ", settings.text, re.MULTILINE)
    assert set(names) <= set(load())


def test_below_another_root_nothing_is_said_to_the_systemd_of_this_machine() -> None:
    service = Service("/usr/bin/tidelog")
    here = [step.words for step in plan_install(service, None, enable=True) if isinstance(step, RunCommand)]
    assert ("systemctl", "daemon-reload") in here
    for plan in (plan_install(service, "/image", enable=True), plan_uninstall("/image")):
        commands = [step.words for step in plan if isinstance(step, RunCommand)]
        assert commands
        assert all("--root=/image" in words and "--now" not in words for words in commands)


def test_an_uninstallation_removes_the_unit_only() -> None:
    assert [str(step) for step in plan_uninstall(None)] == [
        "systemctl disable --now tidelog",
        f"remove {UNIT_PATH}",
        "remove /etc/sysusers.d/tidelog.conf",
        "systemctl daemon-reload",
    ]


@pytest.mark.parametrize("command", ["install", "uninstall", "status"])
def test_without_systemd_the_commands_say_so(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine, "SYSTEMD_RUNS", "/nowhere")
    assert run(["service", command]) == Exit.FAILED
    assert "systemd does not run this machine" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["/home/ann/.venv/bin/tidelog", "/root/tidelog", "/tmp/tidelog"])
def test_a_command_that_the_service_could_not_see_is_refused(command: str) -> None:
    with pytest.raises(CliError, match=f"could not start {command}"):
        machine.check_reachable(command)
