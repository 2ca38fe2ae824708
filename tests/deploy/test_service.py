"""The service by systemd's own tools: the unit, its hardening, an installation, a broker that notifies."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.interop.broker_process import console_script
from tidelog.cli.service.unit import NAME, UNIT_PATH, Service, unit_text
from tidelog.server.free_ports import free_ports

PATIENCE_S = 60.0
EXPOSURE_MAX = 2.0
"""Of 10; below 2 systemd-analyze calls a service OK, and most of Debian's own have 9."""


if shutil.which("systemd-analyze") is None:
    pytest.skip("no systemd-analyze; on Debian: apt-get install systemd", allow_module_level=True)


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    path = tmp_path / "tidelog.service"
    path.write_text(unit_text(Service(console_script(), writable=("/var/log",))))
    return path


def test_systemd_finds_nothing_wrong_with_the_unit(unit: Path) -> None:
    done = run("systemd-analyze", "verify", "--man=no", unit)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_service_is_hardened(unit: Path) -> None:
    done = run("systemd-analyze", "security", "--offline=yes", "--no-pager", unit)
    score = re.search(r"Overall exposure level for tidelog.service: ([0-9.]+)", done.stdout)
    assert score is not None, done.stdout + done.stderr
    assert float(score[1]) < EXPOSURE_MAX, done.stdout


def test_an_installation_into_an_image_and_back(tmp_path: Path) -> None:
    root = tmp_path / "image"
    (root / "etc").mkdir(parents=True)
    install = [
        console_script(),
        "service",
        "install",
        "--root",
        root,
        "--command",
        "/opt/tidelog/bin/tidelog",
    ]
    done = run(*install)
    assert done.returncode == 0, done.stderr
    assert (root / UNIT_PATH[1:]).read_text() == unit_text(Service("/opt/tidelog/bin/tidelog"))
    assert (root / "etc/systemd/system/multi-user.target.wants/tidelog.service").is_symlink()
    assert f"{NAME}:x:" in (root / "etc/passwd").read_text()
    settings = root / "etc/tidelog/broker.yaml"
    settings.write_text("log.dirs: /disk1\n")
    assert run(*install).returncode == 0
    assert settings.read_text() == "log.dirs: /disk1\n", "an existing file stays"
    assert "\nReadWritePaths=/disk1\n" in (root / UNIT_PATH[1:]).read_text()
    assert run(console_script(), "service", "uninstall", "--root", root).returncode == 0
    assert not (root / UNIT_PATH[1:]).exists()
    assert not (root / "etc/systemd/system/multi-user.target.wants/tidelog.service").is_symlink()
    assert settings.exists()


def test_a_dry_run_shows_the_unit_with_the_log_dirs_of_the_settings(tmp_path: Path) -> None:
    settings = tmp_path / "broker.yaml"
    settings.write_text(
        "log.dirs: [/disk1/logs, /var/lib/tidelog/logs, more]\naudit.file: /var/log/t/audit\n"
    )
    done = run(console_script(), "service", "install", "--dry-run", "--json", "--config", settings)
    unit = json.loads(done.stdout)["files"][UNIT_PATH]
    assert re.findall(r"^ReadWritePaths=(.*)$", unit, re.MULTILINE) == ["/disk1/logs", "/var/log/t"]
    assert "\nRequiresMountsFor=/var/lib/tidelog /disk1/logs\n" in unit
    assert f"--config {settings}\n" in unit


@pytest.mark.parametrize("cores", [1, 2])
def test_a_broker_notifies_beats_and_says_when_it_stops(tmp_path: Path, cores: int) -> None:
    """With several cores it is the supervisor that does, once all of them answer."""
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(address)
        systemd.settimeout(PATIENCE_S)
        clean = {name: text for name, text in os.environ.items() if not name.startswith("TIDELOG_")}
        environment = clean | {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "600000"}
        [port] = [0] if cores == 1 else free_ports("localhost", 1, in_a_row=cores)
        command = [console_script(), "up", "--port", str(port), "--data", str(tmp_path / "data")]
        command += [] if cores == 1 else ["--cores", str(cores)]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
        try:
            heard: list[str] = []

            def until(line: str) -> None:
                deadline = time.monotonic() + PATIENCE_S
                while line not in heard and time.monotonic() < deadline:
                    heard.extend(systemd.recv(4096).decode().split("\n"))

            until("READY=1")
            before = heard.copy()
            heard.clear()
            until("WATCHDOG=1")
            heard.clear()
            until("WATCHDOG=1")
            process.send_signal(signal.SIGTERM)
            until("STOPPING=1")
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
            process.communicate()
    assert before[0].startswith("STATUS=Recovers")
    assert any(re.fullmatch(r"STATUS=Answers at localhost:\d+", line) for line in before)
