"""`tidelog broker`: a cluster of brokers that are each started on their own, as on machines of their own."""

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from tests.interop.broker_process import console_script, free_port
from tests.interop.fleet_process import PATIENCE_S, clean_environment, run_tidelog
from tests.interop.waiting import eventually

pytestmark = pytest.mark.timeout(180)


class Machine:
    """One broker with its settings file, directory and output."""

    def __init__(self, node: int, port: int, directory: Path, voters: str) -> None:
        directory.mkdir(exist_ok=True)
        self.node, self.port = node, port
        self.data = directory / f"host-{node}"
        self.file = directory / f"host-{node}.yaml"
        self.ready_file, self.log_file = directory / f"ready-{node}", directory / f"log-{node}"
        settings = {
            "node.id": node,
            "listeners": f"PLAINTEXT://localhost:{port}",
            "log.dirs": str(self.data),
            "controller.quorum.voters": voters,
            "default.replication.factor": 3,
            "min.insync.replicas": 2,
            "durability": "os",
            "broker.session.timeout.ms": 3000,
            "broker.heartbeat.interval.ms": 500,
        }
        self.file.write_text("".join(f"{name}: {value}\n" for name, value in settings.items()))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, command_name: str = "broker") -> None:
        self.ready_file.unlink(missing_ok=True)
        command = [
            console_script(),
            command_name,
            "--config",
            str(self.file),
            "--ready-file",
            str(self.ready_file),
        ]
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=clean_environment()
            )

    def wait(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not self.ready_file.exists():
            assert self.process is not None
            assert self.process.poll() is None, self.log_file.read_text()
            assert time.monotonic() < deadline, self.log_file.read_text()
            time.sleep(0.05)

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def stop(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)


class Machines:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        ports = [free_port() for _ in range(3)]
        self.voters = ",".join(f"{node}@localhost:{port}" for node, port in enumerate(ports, 1))
        self.all = {node: Machine(node, port, directory, self.voters) for node, port in enumerate(ports, 1)}
        self.servers = ",".join(f"localhost:{port}" for port in ports)
        for machine in self.all.values():
            machine.start()
        for machine in self.all.values():
            machine.wait()

    def add(self, node: int) -> Machine:
        self.all[node] = Machine(node, free_port(), self.directory, self.voters)
        self.all[node].start()
        self.all[node].wait()
        return self.all[node]

    def tidelog(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_tidelog(self.servers, *arguments)

    def json(self, *arguments: str) -> Any:
        done = self.tidelog(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def healthy(self) -> None:
        done = self.tidelog("cluster", "status", "--wait", "60")
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    running = Machines(tmp_path)
    yield running
    for machine in running.all.values():
        machine.end()


def test_a_broker_comes_and_goes(machines: Machines) -> None:
    machines.tidelog("topic", "create", "t", "-p", "6")
    assert machines.tidelog("produce", "t", "kept").returncode == 0
    fourth = machines.add(4)
    eventually(lambda: "without a vote" in fourth.log_file.read_text())
    assert machines.tidelog("cluster", "rebalance").returncode == 0
    held = {row["id"]: row["replicas"] for row in machines.json("cluster", "brokers")}
    assert sorted(held.values()) == [4, 4, 5, 5]
    assert held[4] > 0

    assert machines.tidelog("cluster", "drain", "4").returncode == 0
    assert machines.tidelog("topic", "create", "later", "-p", "8").returncode == 0
    rows = {row["id"]: row for row in machines.json("cluster", "brokers")}
    assert (rows[4]["replicas"], rows[4]["draining"], rows[1]["draining"]) == (0, True, False)
    assert fourth.stop() == 0
    assert [row["id"] for row in machines.json("cluster", "brokers")] == [1, 2, 3]
    assert machines.tidelog("consume", "t").stdout == "kept\n"


def test_a_group_begins_while_a_broker_is_drained(machines: Machines) -> None:
    """The topic of its offsets has as many replicas as there are brokers that stay."""
    machines.tidelog("topic", "create", "t", "-r", "2", "-c", "min.insync.replicas=1")
    assert machines.tidelog("produce", "t", "kept").returncode == 0
    done = machines.tidelog("cluster", "drain", "3")
    assert done.returncode == 0, done.stderr
    settings = {"bootstrap.servers": machines.servers, "group.id": "g", "auto.offset.reset": "earliest"}
    with Consumer({**settings, "log_level": 0}) as consumer:
        consumer.subscribe(["t"])
        [message] = consumer.consume(1, timeout=60)
        assert message.value() == b"kept"
    [topic] = machines.json("topic", "describe", "__consumer_offsets")
    assert {frozenset(partition["replicas"]) for partition in topic["partitions"]} == {frozenset({1, 2})}


def test_the_controller_itself_is_drained_and_its_vote_goes_to_another(machines: Machines) -> None:
    machines.tidelog("topic", "create", "t", "-p", "6")
    assert machines.tidelog("produce", "t", "kept").returncode == 0
    machines.add(4)
    controller = machines.json("cluster", "quorum")["leader"]
    done = machines.tidelog("cluster", "drain", str(controller))
    assert done.returncode == 0, done.stderr
    assert f"In place of broker {controller}, broker 4 votes on the metadata." in done.stdout
    assert machines.all[controller].stop() == 0
    machines.healthy()
    rest = sorted({1, 2, 3, 4} - {controller})
    rows = machines.json("cluster", "brokers")
    assert [row["id"] for row in rows if row["voter"]] == [row["id"] for row in rows] == rest
    assert machines.tidelog("consume", "t").stdout == "kept\n"


def test_a_voter_that_lost_its_disk_comes_back_with_an_empty_one(machines: Machines) -> None:
    machines.tidelog("topic", "create", "t", "-p", "3")
    assert machines.tidelog("produce", "t", "kept").returncode == 0
    quorum = machines.json("cluster", "quorum")
    node = 1 if quorum["leader"] != 1 else 2
    [before] = [member["directory"] for member in quorum["members"] if member["id"] == node]
    lost = machines.all[node]
    lost.stop(signal.SIGKILL)
    shutil.rmtree(lost.data)
    lost.start()
    lost.wait()
    machines.healthy()
    [member] = [found for found in machines.json("cluster", "quorum")["members"] if found["id"] == node]
    assert member["role"] == "voter"
    assert member["directory"] != before
    assert machines.tidelog("consume", "t").stdout == "kept\n"


def test_one_after_the_other_is_started_anew(machines: Machines) -> None:
    machines.tidelog("topic", "create", "t", "-p", "6")
    for machine in list(machines.all.values()):
        assert machine.stop() == 0
        assert machines.tidelog("produce", "t", f"while {machine.node} is away").returncode == 0
        machine.start()
        machine.wait()
        machines.healthy()
    assert len(machines.tidelog("consume", "t").stdout.splitlines()) == 3


def test_a_single_broker_grows_into_a_cluster(tmp_path: Path) -> None:
    first = Machine(1, free_port(), tmp_path, "")
    first.file.write_text(first.file.read_text().replace("controller.quorum.voters: \n", ""))
    others = [Machine(node, free_port(), tmp_path, f"1@localhost:{first.port}") for node in (2, 3)]
    try:
        first.start("up")
        first.wait()
        servers = f"localhost:{first.port}"
        assert run_tidelog(servers, "topic", "create", "t", "-r", "1").returncode == 0
        assert run_tidelog(servers, "produce", "t", "kept", "--acks", "1").returncode == 0
        for other in others:
            other.start()
        for other in others:
            other.wait()
            assert run_tidelog(servers, "cluster", "add-voter", str(other.node)).returncode == 0
        assert run_tidelog(servers, "topic", "reassign", "t", "-r", "3").returncode == 0
        first.stop(signal.SIGKILL)
        rest = ",".join(f"localhost:{other.port}" for other in others)
        # Nobody has missed the leader yet: the command waits for the next one, but not for ever.
        done = run_tidelog(rest, "consume", "t")
        assert (done.returncode, done.stdout) == (0, "kept\n"), done.stderr
        voters = json.loads(run_tidelog(rest, "cluster", "status", "--json").stdout)["quorum"]["voters"]
        assert voters == [1, 2, 3]
    finally:
        for machine in (first, *others):
            machine.end()


def test_a_second_broker_with_one_id_is_refused(machines: Machines) -> None:
    second = Machine(1, free_port(), machines.directory / "second", machines.voters)
    command = [console_script(), "broker", "--config", str(second.file)]
    # As another machine would have it: the list is right there, but this is not the machine that it means.
    command.append(f"--set=controller.quorum.voters={machines.voters.partition(',')[2]}")
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=clean_environment()
    )
    assert done.returncode == 6
    assert f"Broker 1 is alive already, at localhost:{machines.all[1].port}." in done.stderr
    machines.healthy()


def test_the_data_of_another_cluster_is_refused(machines: Machines, tmp_path: Path) -> None:
    stranger = Machine(7, free_port(), tmp_path / "stranger", "")
    stranger.file.write_text(stranger.file.read_text().replace("controller.quorum.voters: \n", ""))
    stranger.start("up")
    stranger.wait()
    assert stranger.stop() == 0
    command = [console_script(), "broker", "--config", str(stranger.file)]
    command.append(f"--set=controller.quorum.voters={machines.voters}")
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=clean_environment()
    )
    assert done.returncode == 1
    assert "belong to another cluster" in done.stderr
    assert "tidelog cluster add-voter" in done.stderr
    machines.healthy()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([], "No voters are set"),
        (["controller.quorum.voters=1@localhost:9092"], "node.id is not set"),
        (["controller.quorum.voters=localhost:9092", "node.id=1"], "write its node.id and address"),
        (["controller.quorum.voters=1@localhost:9092", "node.id=2"], "but this is broker 2"),
    ],
)
def test_settings_that_make_no_member(settings: list[str], words: str, tmp_path: Path) -> None:
    command = [console_script(), "broker", *(f"--set={pair}" for pair in settings)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        cwd=tmp_path,
        env=clean_environment(),
    )
    assert done.returncode == 2
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []
