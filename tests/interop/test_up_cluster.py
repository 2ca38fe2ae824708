"""`tidelog up --brokers N` as a process: how a cluster starts, stops and comes back, and why it refuses."""

import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.interop.broker_process import console_script
from tests.interop.fleet_process import PATIENCE_S, FleetProcess, clean_environment
from tests.interop.waiting import eventually
from tidelog.cli.stop_signals import ECHO_S
from tidelog.storage.log_dir.files import CLEAN_SHUTDOWN

pytestmark = pytest.mark.timeout(180)
Up = Callable[..., FleetProcess]


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    started: list[FleetProcess] = []

    def start(*options: str) -> FleetProcess:
        started.append(FleetProcess(tmp_path, *options))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.stop()


def tidelog(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [console_script(), *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def refused(directory: Path, *options: str) -> str:
    done = subprocess.run(
        [console_script(), "up", *options],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=directory,
        env=clean_environment(),
    )
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    return done.stderr


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_same_cluster_comes_back(up: Up) -> None:
    running = up("--brokers", "3", "--port", "0", "--demo")
    first = running.facts
    eventually(lambda: "It works: wrote 'Hello, Tidelog'" in running.out.read_text(), PATIENCE_S)
    assert "on brokers 1, 2, 3" in running.out.read_text()
    pids = [broker["pid"] for broker in first["brokers"]]
    assert running.stop(signal.SIGINT) == 0
    assert "Stopped cleanly" in running.out.read_text()
    assert "Traceback" not in running.said()
    assert not running.ready_file.exists()
    assert not any(map(is_running, pids))

    again = up()  # neither --brokers nor --port: the directory knows
    second = again.facts
    for name in ("cluster_id", "bootstrap_servers", "data"):
        assert second[name] == first[name]
    read = tidelog("-b", second["bootstrap_servers"], "consume", "hello")
    assert read.stdout == "Hello, Tidelog\n"
    assert "runs already" in refused(again.directory, "--data", "data")


def test_for_machines_it_speaks_json(up: Up) -> None:
    running = up("--brokers", "2", "--port", "0", "--json")
    facts = running.facts
    pid = running.pid(2)
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: "broker_restarted" in running.out.read_text(), PATIENCE_S)
    assert running.pid(2) != pid
    assert running.stop() == 0
    events = [json.loads(line) for line in running.out.read_text().splitlines()]
    assert [event["event"] for event in events] == ["ready", "broker_ended", "broker_restarted", "stopped"]
    assert events[0] == facts
    assert (events[1]["broker"], events[1]["exit_code"], events[1]["restart_in_s"]) == (2, -9, 1.0)
    assert events[3]["clean"] is True


def test_one_may_stay_dead(up: Up) -> None:
    running = up("--brokers", "2", "--port", "0", "--no-restart")
    os.kill(running.pid(2), signal.SIGKILL)
    eventually(lambda: "Broker 2 exited unexpectedly (killed by SIGKILL)" in running.err.read_text())
    assert "The others keep running." in running.err.read_text()
    address = running.facts["brokers"][0]["bootstrap_servers"]
    assert tidelog("-b", address, "cluster", "brokers").returncode == 0
    assert running.stop() == 0


def test_brokers_do_not_outlive_their_supervisor(up: Up) -> None:
    running = up("--brokers", "2", "--port", "0")
    pids = [broker["pid"] for broker in running.facts["brokers"]]
    running.process.kill()
    running.process.wait()
    eventually(lambda: not any(map(is_running, pids)), PATIENCE_S)


def test_a_second_ctrl_c_stops_at_once(up: Up) -> None:
    running = up("--brokers", "2", "--port", "0")
    pids = [broker["pid"] for broker in running.facts["brokers"]]
    os.kill(pids[0], signal.SIGSTOP)  # would take for ever to stop
    running.process.send_signal(signal.SIGINT)
    eventually(lambda: "Stopping the brokers one after the other" in running.out.read_text())
    time.sleep(ECHO_S + 0.2)
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(10) == 0
    assert "not cleanly" in running.out.read_text()
    assert not any(map(is_running, pids))


def drained(pipe: int) -> bool:
    while select.select([pipe], [], [], 0)[0] and os.read(pipe, 1 << 16):
        pass
    return True


def test_ctrl_c_stops_it_though_the_reader_of_its_log_is_gone(tmp_path: Path) -> None:
    """As with `tidelog up --brokers 2 2>&1 | tee log`, whose tee ends with the same Ctrl-C."""
    ready_file = tmp_path / "ready.json"
    reading, writing = os.pipe()
    running = subprocess.Popen(
        [console_script(), "up", "--brokers", "2", "--port", "0", "--ready-file", str(ready_file)],
        stdout=writing,
        stderr=writing,
        cwd=tmp_path,
        env=clean_environment(),
    )
    os.close(writing)
    try:
        eventually(lambda: drained(reading) and ready_file.exists(), PATIENCE_S)
        pids = [broker["pid"] for broker in json.loads(ready_file.read_text())["brokers"]]
        os.close(reading)
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE_S) == 0
        assert not any(map(is_running, pids))
        assert all((tmp_path / "data" / f"node-{id}" / CLEAN_SHUTDOWN).exists() for id in (1, 2))
    finally:
        running.kill()
        running.wait()


def test_it_can_be_stopped_while_it_starts(up: Up) -> None:
    running = up("--brokers", "3", "--port", "0")
    eventually((running.directory / "data" / "node-3").exists)
    assert running.stop() == 0
    assert "Traceback" not in running.said()


def test_a_cluster_grows(up: Up) -> None:
    running = up("--brokers", "2", "--port", "0")
    cluster = running.facts["cluster_id"]
    assert running.stop() == 0
    grown = up("--brokers", "3")
    assert grown.facts["cluster_id"] == cluster
    shown = tidelog("-b", grown.servers, "cluster", "brokers", "--json")
    assert [row["id"] for row in json.loads(shown.stdout)] == [1, 2, 3]
    assert grown.stop() == 0
    assert "holds a cluster of 3 brokers, not of 2" in refused(grown.directory, "--brokers", "2")


def test_a_taken_port(tmp_path: Path) -> None:
    with socket.create_server(("localhost", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused(tmp_path, "--brokers", "2", "--port", str(port - 1))
    assert f"{port} of localhost:{port - 1},localhost:{port}" in said  # the one before it may be taken too
    assert "taken." in said
    assert f"Try: tidelog up --brokers 2 --port {port + 1}" in said
    assert not (tmp_path / "data" / "cluster.json").exists()


def test_a_broker_that_cannot_start_ends_the_others(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "node-2").write_text("a file where a directory should be")
    said = refused(tmp_path, "--brokers", "2", "--port", "0")
    assert "Broker 2 did not start: " in said
    assert str(tmp_path / "data" / "node-2") in said


def test_settings_that_are_wrong(tmp_path: Path) -> None:
    assert "num.partitions" in refused(tmp_path, "--brokers", "3", "--set", "num.partitions=none")
    assert "cannot be set for several brokers" in refused(tmp_path, "--brokers", "3", "--set", "node.id=1")
    assert not (tmp_path / "data").exists()
