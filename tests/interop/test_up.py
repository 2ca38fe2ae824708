"""`tidelog up` as a process: what it says, when it answers, how it stops, why it refuses to start."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.broker_process import console_script
from tests.interop.fleet_process import clean_environment
from tests.interop.waiting import eventually
from tidelog.cli.stop_signals import ECHO_S

PATIENCE_S = 30.0


class Up:
    """A started `tidelog up`, whose output is read from files so that it can never block."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.out, self.err, self.ready_file = directory / "out", directory / "err", directory / "ready.json"
        command = [console_script(), "up", "--ready-file", str(self.ready_file), *options]
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=err, cwd=directory, env=clean_environment()
            )

    def ready(self) -> Any:
        deadline = time.monotonic() + PATIENCE_S
        while not self.ready_file.exists():
            assert self.process.poll() is None, self.err.read_text()
            assert time.monotonic() < deadline, self.err.read_text()
            time.sleep(0.01)
        return json.loads(self.ready_file.read_text())

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Any]:
    started: list[Up] = []

    def start(*options: str) -> Up:
        started.append(Up(tmp_path, *options))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


def tidelog(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [console_script(), *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_starts_serves_and_stops_cleanly(up: Any, tmp_path: Path, number: int) -> None:
    running = up("--port", "0")
    ready = running.ready()
    assert ready["data"] == [str(tmp_path / "data")]
    assert ready["durability"] == "fsync"
    assert ready["pid"] == running.process.pid
    servers = ready["bootstrap_servers"]
    assert tidelog("-b", servers, "produce", "t", "--create-topic", "kept").returncode == 0
    assert running.stop(number) == 0
    assert not running.ready_file.exists()
    banner = running.out.read_text()
    assert f"answers at {servers}" in banner
    assert f"consume greetings -b {servers}" in banner
    assert "Data        ./data" in banner
    assert "fsync" in banner
    assert "Stopped cleanly" in banner
    assert "Traceback" not in running.err.read_text()
    again = up("--port", str(ready["port"]))
    again.ready()
    assert tidelog("-b", servers, "consume", "t").stdout == "kept\n"


def test_for_machines_it_speaks_json(up: Any) -> None:
    running = up("--port", "0", "--json")
    ready = running.ready()
    assert running.stop() == 0
    first, last = map(json.loads, running.out.read_text().splitlines())
    assert first == ready
    assert last["event"] == "stopped"


def test_a_second_ctrl_c_stops_at_once(up: Any) -> None:
    running = up("--port", "0", "--set", "shutdown.grace.ms=60000")
    host, _, port = running.ready()["bootstrap_servers"].rpartition(":")
    with socket.create_connection((host, int(port))) as busy:
        busy.sendall(b"\0\0")  # half a frame's length: whether or not the broker waits for it,
        running.process.send_signal(signal.SIGINT)
        time.sleep(ECHO_S + 0.2)
        running.process.send_signal(signal.SIGTERM)
        # -15: it had stopped, and the second signal met a process that was about to end.
        assert running.process.wait(10) in (0, 130, 143, -signal.SIGTERM)


def test_the_demonstration_is_a_record_written_and_read(up: Any) -> None:
    running = up("--port", "0", "--demo")
    running.ready()
    eventually(lambda: "It works: wrote 'Hello, Tidelog'" in running.out.read_text())
    assert running.stop() == 0


def test_settings_come_from_flag_and_file(up: Any, tmp_path: Path) -> None:
    (tmp_path / "broker.yaml").write_text("num.partitions: 4\nlog.retention.ms: 3d\n")
    running = up(
        "--port", "0", "--config", "broker.yaml", "--set", "log.retention.ms=2d", "--data", "elsewhere"
    )
    servers = running.ready()["bootstrap_servers"]
    assert (tmp_path / "elsewhere").is_dir()
    shown = tidelog("-b", servers, "config", "show", "broker", "num.partitions", "log.retention.ms", "--json")
    assert [entry["value"] for entry in json.loads(shown.stdout)] == ["4", "172800000"]
    assert {entry["source"] for entry in json.loads(shown.stdout)} == {"file"}


def test_metrics_and_health_are_served_and_shown(up: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.interop.test_up.clean_environment", lambda: {"PATH": os.environ["PATH"]})
    running = up("--port", "0")
    [url] = running.ready()["metrics"]
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as page:
        assert b"tidelog_requests_in_flight" in page.read()
    with urllib.request.urlopen(url.replace("/metrics", "/readyz"), timeout=PATIENCE_S) as page:
        assert json.loads(page.read()) == {"ok": True}
    assert running.stop() == 0
    assert f"  Metrics     {url}\n" in running.out.read_text()


def refused(*options: str, directory: Path) -> subprocess.CompletedProcess[str]:
    command = [console_script(), "up", *options]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=directory,
        env=clean_environment(),
    )


def test_a_taken_port(tmp_path: Path) -> None:
    with socket.create_server(("localhost", 0)) as taken:
        done = refused("--port", str(taken.getsockname()[1]), directory=tmp_path)
    assert done.returncode == 1
    assert "the port is taken" in done.stderr
    assert "Try: tidelog up --port" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_log_dir_in_use(up: Any, tmp_path: Path) -> None:
    up("--port", "0").ready()
    done = refused("--port", "0", directory=tmp_path)
    assert done.returncode == 1
    assert str(tmp_path / "data") in done.stderr
    assert "Traceback" not in done.stderr


def test_a_log_dir_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    done = refused("--port", "0", directory=tmp_path)
    assert done.returncode in (1, 2)
    assert "data" in done.stderr
    assert "Traceback" not in done.stderr


def test_settings_that_are_wrong(tmp_path: Path) -> None:
    done = refused("--set", "log.retention.hour=1", "--set", "num.partitions=none", directory=tmp_path)
    assert done.returncode == 2
    assert "log.retention.hours" in done.stderr
    assert "num.partitions" in done.stderr
    assert not (tmp_path / "data").exists()
