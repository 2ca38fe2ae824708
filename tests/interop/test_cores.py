"""`tidelog up --cores N` as processes: real clients, a core that is killed, more cores and fewer."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.fleet_process import FleetProcess, run_tidelog
from tests.interop.numbered_records import PARTITIONS, TOPIC, leaders, read_all, send
from tests.interop.waiting import eventually
from tidelog.server.free_ports import free_ports

pytestmark = pytest.mark.timeout(180)
Up = Callable[..., FleetProcess]


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    started: list[FleetProcess] = []
    [port] = free_ports("localhost", 1, in_a_row=8)

    def start(*options: str) -> FleetProcess:
        started.append(FleetProcess(tmp_path, "--port", str(port), *options))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.stop()


def test_a_machine_of_two_cores_and_back_to_one(up: Up) -> None:
    """Clients bootstrap from one address; a killed core comes back alone; records outlive every change."""
    two = up("--cores", "2")
    servers = two.servers
    assert [broker["node_id"] for broker in two.facts["brokers"]] == [1, 1001]
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    assert sorted(leaders(servers)) == [1] * 4 + [1001] * 4
    refused = run_tidelog(servers, "topic", "create", "copies", "--replication-factor", "2")
    assert "run on only 1 machine" in refused.stderr
    port = servers.rpartition(":")[2]
    other = ("--data", str(two.directory / "other"), "--port", port)
    refused = run_tidelog(servers, "up", "--cores", "2", *other)
    assert f"Port {port} of core 0 (broker 1, listener PLAINTEXT) is taken" in refused.stderr

    send(servers, range(400))
    pids = two.pid(1), two.pid(1001)
    two.send(1001, signal.SIGKILL)
    eventually(lambda: two.pid(1001) != pids[1])
    assert two.pid(1) == pids[0]
    send(servers, range(400, 800))
    assert read_all(servers, "two", 800) == list(range(800))
    status = run_tidelog(servers, "cluster", "status", "--wait", "30")
    assert "1: 1 and 1001, all alive" in status.stdout
    assert two.stop() == 0
    assert "1 | " in two.said()

    one = up("--cores", "1")
    eventually(lambda: set(leaders(one.servers)) == {1}, 60)
    eventually(lambda: "Broker 1001 is drained and gone" in one.said(), 60)
    assert not (one.directory / "data" / "cores").exists()
    assert read_all(one.servers, "one", 800) == list(range(800))
    assert one.stop() == 0

    alone = up()
    assert "brokers" not in alone.facts, "one process, as if there never were two"
    send(alone.servers, range(800, 900))
    assert alone.stop() == 0

    again = up("--cores", "2")
    eventually(lambda: sorted(leaders(again.servers)) == [1] * 4 + [1001] * 4, 60)
    assert read_all(again.servers, "again", 900) == list(range(900))
    assert again.stop() == 0


def test_a_machine_gets_eight_cores_and_goes_back_to_one(up: Up) -> None:
    one = up()
    admin = AdminClient({"bootstrap.servers": one.servers})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    send(one.servers, range(400))
    assert one.stop() == 0

    eight = up("--cores", "8")
    eventually(lambda: sorted(leaders(eight.servers)) == [1 + 1000 * core for core in range(8)], 60)
    send(eight.servers, range(400, 800))
    assert read_all(eight.servers, "eight", 800) == list(range(800))
    assert eight.stop() == 0

    one = up("--cores", "1")
    eventually(lambda: "Broker 1001 is drained and gone" in one.said(), 90)
    assert leaders(one.servers) == [1] * 8
    assert not (one.directory / "data" / "cores").exists()
    assert read_all(one.servers, "one", 800) == list(range(800))
    assert read_all(one.servers, "eight", 0) == [], "the group of before has read all of it"
    assert one.stop() == 0
