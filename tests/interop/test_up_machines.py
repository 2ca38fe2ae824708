"""`tidelog up --brokers N --cores M`: machines of several cores on one computer, and one that dies."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.fleet_process import FleetProcess, run_tidelog
from tests.interop.numbered_records import PARTITIONS, TOPIC, read_all
from tests.interop.waiting import eventually
from tidelog.storage.log_dir.files import CLEAN_SHUTDOWN

pytestmark = pytest.mark.timeout(180)
Up = Callable[..., FleetProcess]
MACHINES, CORES = ("1", "2", "3"), 2
VICTIM = "2"


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


class Writing:
    """A producer with acks=all, in a thread of its own: which numbers were acknowledged."""

    def __init__(self, servers: str) -> None:
        self.acknowledged: list[int] = []
        self.failed: list[str] = []
        self._stop = threading.Event()
        self._producer = Producer(
            {"bootstrap.servers": servers, "acks": "all", "enable.idempotence": True, "linger.ms": 1}
        )
        self._thread = threading.Thread(target=self._run, name="writing")
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            self._producer.produce(
                TOPIC,
                str(number),
                partition=number % PARTITIONS,
                on_delivery=lambda error, _, number=number: self._on_delivery(number, error),
            )
            number += 1
            self._producer.poll(0.002)

    def _on_delivery(self, number: int, error: object) -> None:
        if error is None:
            self.acknowledged.append(number)
        else:
            self.failed.append(str(error))

    def more(self, count: int) -> None:
        """Waits until so many more are acknowledged."""
        wanted = len(self.acknowledged) + count
        eventually(lambda: len(self.acknowledged) >= wanted, 60)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self._producer.flush(60)


def machine(broker: int) -> int:
    return broker % 1000


def replicas(servers: str) -> list[list[int]]:
    found = AdminClient({"bootstrap.servers": servers}).list_topics(TOPIC, timeout=10).topics[TOPIC]
    return [list(partition.replicas) for partition in found.partitions.values()]


def processes(running: FleetProcess, name: str) -> dict[str, int]:
    """Of a machine: its supervisor's and its cores'."""
    [found] = [each for each in running.facts["machines"] if each["machine"] == name]
    return {"supervisor": found["pid"], **{str(id): running.pid(id) for id in found["brokers"]}}


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_no_core_outlives_its_machine_nor_the_cluster(up: Up) -> None:
    running = up("--brokers", "2", "--cores", str(CORES), "--port", "0")
    before = processes(running, VICTIM)
    os.kill(before["1002"], signal.SIGSTOP)  # it would not notice that its supervisor is gone
    os.kill(before["supervisor"], signal.SIGKILL)
    eventually(lambda: all(map(gone, before.values())), 30)
    eventually(lambda: f"Machine {VICTIM} answers again" in running.err.read_text(), 60)
    eventually(lambda: processes(running, VICTIM)["supervisor"] != before["supervisor"])
    assert set(processes(running, VICTIM).values()).isdisjoint(before.values())
    assert running.err.read_text().count(f"Machine {VICTIM} exited unexpectedly") == 1, "its ports were free"

    everything = [pid for name in ("1", VICTIM) for pid in processes(running, name).values()]
    running.process.kill()
    running.process.wait()
    eventually(lambda: all(map(gone, everything)), 60)
    log_dirs = [running.directory / "data" / f"node-{id}" for id in ("1", VICTIM)]
    for log_dir in (*log_dirs, *(each / "cores" / "1" for each in log_dirs)):
        assert (log_dir / CLEAN_SHUTDOWN).exists(), f"{log_dir} was not closed"


def test_a_machine_of_three_dies(up: Up) -> None:
    running = up("--brokers", str(len(MACHINES)), "--cores", str(CORES), "--port", "0")
    first = running.facts
    servers = running.servers
    assert [core["node_id"] for core in first["brokers"]] == [1, 1001, 2, 1002, 3, 1003]
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)])[TOPIC].result(30)
    assert all(sorted(map(machine, placed)) == [1, 2, 3] for placed in replicas(servers))
    assert {broker for placed in replicas(servers) for broker in placed} == {1, 1001, 2, 1002, 3, 1003}

    before = processes(running, VICTIM)
    writing = Writing(servers)
    writing.more(300)
    assert {os.getpgid(pid) for pid in before.values()} == {before["supervisor"]}, "all die at once"
    os.killpg(before["supervisor"], signal.SIGKILL)
    writing.more(1000)
    writing.stop()
    assert writing.failed == []

    core = processes(running, "3")
    running.send(1003, signal.SIGKILL)
    eventually(lambda: running.pid(1003) != core["1003"], 60)
    assert processes(running, "3") == {**core, "1003": running.pid(1003)}, "it comes back alone"
    assert "3 | Broker 1003 exited unexpectedly (killed by SIGKILL)" in running.err.read_text()
    eventually(lambda: len(processes(running, VICTIM)) == len(before), 60)
    assert set(processes(running, VICTIM).values()).isdisjoint(before.values())
    assert f"Machine {VICTIM} exited unexpectedly (killed by SIGKILL)" in running.err.read_text()
    status = run_tidelog(servers, "cluster", "status", "--wait", "60")
    for name in MACHINES:
        assert f"{name}: {name} and 100{name}, all alive" in status.stdout

    found = read_all(servers, "all", len(writing.acknowledged))
    assert found == sorted(set(found)), "none comes twice"
    assert set(writing.acknowledged) <= set(found)
    assert running.stop() == 0
    assert "Stopped cleanly" in running.out.read_text()
    assert "Traceback" not in running.said()
