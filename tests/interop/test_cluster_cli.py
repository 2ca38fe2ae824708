"""The operator's commands against a cluster of our own: three brokers that `tidelog up` supervises."""

import json
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.interop.command_line import Done, Tidelog, run_here
from tests.interop.fleet_process import FleetProcess
from tests.interop.waiting import eventually
from tidelog.cli.exits import Exit

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetProcess]:
    running = FleetProcess(tmp_path_factory.mktemp("fleet"), "--brokers", "3", "--port", "0")
    running.facts  # noqa: B018 - waits until they answer
    yield running
    assert running.stop() == 0, running.said()


@pytest.fixture
def tidelog(
    fleet: FleetProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Tidelog:
    def call(*arguments: str, stdin: bytes = b"", typed: bytes | None = None) -> Done:
        return run_here(capsys, monkeypatch, ["-b", fleet.servers, *arguments], stdin, typed)

    return call


def create(tidelog: Tidelog, fleet: FleetProcess, *options: str) -> str:
    """A topic that every broker knows: commands ask any of them."""
    name = f"cluster-{uuid.uuid4().hex[:10]}"
    assert tidelog("topic", "create", name, *options).code == Exit.OK
    for broker in fleet.facts["brokers"]:
        asked = "topic", "describe", name, "-b", broker["bootstrap_servers"]
        eventually(lambda asked=asked: tidelog(*asked).code == Exit.OK)  # type: ignore[misc]
    return name


@pytest.fixture
def topic(tidelog: Tidelog, fleet: FleetProcess) -> Iterator[str]:
    """Six partitions with two replicas each."""
    name = create(tidelog, fleet, "-p", "6", "-r", "2")
    yield name
    tidelog("topic", "delete", name, "--yes")


def replicas(tidelog: Tidelog, name: str) -> list[list[int]]:
    [described] = tidelog("topic", "describe", name, "--json").json
    return [part["replicas"] for part in described["partitions"]]


def healthy(tidelog: Tidelog) -> Any:
    done = tidelog("cluster", "status", "--wait", "60", "--json")
    assert done.code == Exit.OK, done.out
    return done.json


@contextmanager
def paused(fleet: FleetProcess, node: int) -> Iterator[None]:
    """A broker that stands still for a moment, but not so long that it is missed."""
    fleet.send(node, signal.SIGSTOP)
    try:
        yield
    finally:
        fleet.send(node, signal.SIGCONT)


def follower(tidelog: Tidelog) -> int:
    """A broker that is not the controller, which can be away without an election."""
    return 1 if tidelog("cluster", "quorum", "--json").json["leader"] != 1 else 2


def test_it_says_once_that_all_answer(fleet: FleetProcess) -> None:
    facts = fleet.facts
    assert [broker["node_id"] for broker in facts["brokers"]] == [1, 2, 3]
    assert len({broker["pid"] for broker in facts["brokers"]} | {facts["pid"]}) == 4
    assert all(Path(directory).is_dir() for directory in facts["data"])
    said = fleet.out.read_text()
    assert said.count("a cluster of 3 brokers, answers") == 1
    assert all(f"Broker {node}    localhost:" in said for node in (1, 2, 3))


def test_status(tidelog: Tidelog, fleet: FleetProcess) -> None:
    status = healthy(tidelog)
    assert status["cluster_id"] == fleet.facts["cluster_id"]
    assert status["brokers"] == {"registered": 3, "alive": 3}
    assert status["controller"] in status["quorum"]["voters"] == [1, 2, 3]
    shown = tidelog("cluster", "status").out
    assert "healthy" in shown
    assert "3 of 3 alive" in shown


def test_brokers_and_quorum(tidelog: Tidelog, topic: str) -> None:
    tidelog("produce", topic, "x" * 1000)
    rows = tidelog("cluster", "brokers", "--json").json
    assert [row["id"] for row in rows] == [1, 2, 3]
    assert sum(row["controller"] for row in rows) == 1
    assert sum(row["size_bytes"] for row in rows) >= 2000
    assert all(row["voter"] and row["alive"] and row["free_bytes"] for row in rows)
    quorum = tidelog("cluster", "quorum", "--json").json
    assert [member["role"] for member in quorum["members"]].count("leader") == 1
    assert all(member["directory"] and member["address"] for member in quorum["members"])
    assert "3 voters, 2 must agree" in tidelog("cluster", "quorum").out


def test_reassign_moves_replicas_and_records_stay(tidelog: Tidelog, topic: str) -> None:
    assert tidelog("produce", topic, "-p", "0", stdin=b"a\nb\nc\n").code == Exit.OK
    plan = tidelog("topic", "reassign", topic, "--brokers", "1,2", "--dry-run", "--json").json
    assert plan["version"] == 1
    before = replicas(tidelog, topic)
    done = tidelog("topic", "reassign", topic, "--brokers", "1,2", "--json").json
    assert done["finished"]
    assert done["after"] == plan
    assert all(sorted(found) == [1, 2] for found in replicas(tidelog, topic))
    assert tidelog("consume", topic, "-p", "0").out == "a\nb\nc\n"
    undone = tidelog("topic", "reassign", topic, "--brokers", "1,2")
    assert undone.out == "All replicas are where they should be.\n"
    for entry in done["before"]["partitions"]:  # what would undo it
        assert entry["replicas"] == before[entry["partition"]]


def test_reassign_from_a_file(tidelog: Tidelog, topic: str, tmp_path: Path) -> None:
    wanted = {"version": 1, "partitions": [{"topic": topic, "partition": 3, "replicas": [3, 1, 2]}]}
    (tmp_path / "plan.json").write_text(json.dumps(wanted))
    assert tidelog("topic", "reassign", "--file", str(tmp_path / "plan.json")).code == Exit.OK
    assert replicas(tidelog, topic)[3] == [3, 1, 2]
    [described] = tidelog("topic", "describe", topic, "--json").json
    eventually(lambda: tidelog("topic", "describe", topic, "--json").json[0]["partitions"][3]["leader"] == 3)
    assert sorted(described["partitions"][3]["in_sync"]) == [1, 2, 3]


def test_another_number_of_replicas(tidelog: Tidelog, topic: str) -> None:
    assert tidelog("topic", "reassign", topic, "-r", "3").code == Exit.OK
    assert all(sorted(found) == [1, 2, 3] for found in replicas(tidelog, topic))
    assert tidelog("topic", "reassign", topic, "-r", "1").code == Exit.OK
    assert all(len(found) == 1 for found in replicas(tidelog, topic))


def test_throttles_are_gone_at_the_end(tidelog: Tidelog, topic: str) -> None:
    tidelog("produce", topic, "-p", "0", stdin=b"x" * 1000)
    done = tidelog("topic", "reassign", topic, "-r", "3", "--throttle", "20MiB")
    assert done.code == Exit.OK
    assert "The throttles are removed." in done.err
    assert tidelog("config", "show", "topic", topic, "--json").json == []
    for node in ("1", "2", "3"):
        own = tidelog("config", "show", "broker", "--id", node, "--json").json
        assert not [entry for entry in own if "throttled" in entry["name"]]


def test_a_move_is_seen_and_cancelled(tidelog: Tidelog, fleet: FleetProcess) -> None:
    away = follower(tidelog)
    home = 3 if away != 3 else 2
    name = create(tidelog, fleet, "-p", "1", "-r", "1", "-c", "min.insync.replicas=1")
    assert tidelog("topic", "reassign", name, "--brokers", str(home)).code == Exit.OK
    assert tidelog("produce", name, "kept").code == Exit.OK
    # One that stands still takes connections, but never answers: ask the others.
    others = ["--timeout", "0.5", "-b", fleet.facts["brokers"][home - 1]["bootstrap_servers"]]
    with paused(fleet, away):
        started = tidelog("topic", "reassign", name, "--brokers", str(away), "--no-wait", *others)
        assert started.code == Exit.OK, started.err
        assert "began to move" in started.out
        [moving] = tidelog("topic", "reassign", "--status", name, "--json", *others).json["partitions"]
        assert (moving["adding"], moving["removing"], moving["target"]) == ([away], [home], [away])
        again = tidelog("topic", "reassign", name, "-r", "2", *others)
        assert again.code == Exit.REFUSED
        assert "is being moved already" in again.err
        assert name in tidelog("topic", "reassign", "--cancel", "--dry-run", *others).out
        assert tidelog("topic", "reassign", "--cancel", name, *others).out == f"Cancelled: {name}[0].\n"
    # The broker that stood still may be asked, and has to catch up first.
    eventually(lambda: replicas(tidelog, name) == [[home]])
    assert tidelog("topic", "reassign", "--status").out.startswith("No moves are in progress.")
    assert tidelog("topic", "reassign", "--status", "--wait").code == Exit.OK
    assert tidelog("consume", name).out == "kept\n"
    tidelog("topic", "delete", name, "--yes")
    healthy(tidelog)


def test_drain_and_rebalance(tidelog: Tidelog, topic: str) -> None:
    healthy(tidelog)
    others = [row["name"] for row in tidelog("topic", "list", "--internal", "--json").json]
    for name in others:
        # A topic on all three brokers cannot leave one of them.
        assert tidelog("topic", "reassign", name, "-r", "2").code == Exit.OK
    asked = tidelog("cluster", "drain", "3", typed=b"n\n")
    assert (asked.code, "Nothing was changed." in asked.err) == (Exit.FAILED, True)
    assert "In place of broker 3, no broker would vote on the metadata." in asked.out
    [third] = [row for row in tidelog("cluster", "brokers", "--json").json if row["id"] == 3]
    assert (third["draining"], third["voter"], third["replicas"] > 0) == (False, True, True)
    assert tidelog("cluster", "drain", "3", "--keep-vote", "--no-wait").code == Exit.OK
    done = tidelog("cluster", "drain", "3")  # goes on with the moves that are under way
    assert done.code == Exit.OK, done.err
    assert "Broker 3 holds no replicas" in done.out
    assert "In place of broker 3, no broker votes on the metadata." in done.out
    assert "2 voters bear no greater loss" in done.err
    assert "Stop 3 now" in done.err
    held = {row["id"]: row["replicas"] for row in tidelog("cluster", "brokers", "--json").json}
    assert held[3] == 0
    assert tidelog("cluster", "rebalance").out == "The brokers are even already.\n"
    assert tidelog("cluster", "drain", "3").out == "Broker 3 holds no replicas.\n"
    assert tidelog("cluster", "drain", "3", "--cancel").code == Exit.OK
    eventually(lambda: tidelog("cluster", "add-voter", "3").code == Exit.OK)
    planned = tidelog("cluster", "rebalance", "--dry-run", "--json").json
    assert planned["partitions"]
    assert tidelog("cluster", "rebalance").code == Exit.OK
    rows = tidelog("cluster", "brokers", "--json").json
    for count in ("replicas", "preferred_leaders"):
        counts = [row[count] for row in rows]
        assert max(counts) - min(counts) <= 1
    assert tidelog("cluster", "rebalance").out == "The brokers are even already.\n"
    healthy(tidelog)


def test_a_vote_is_taken_and_given(tidelog: Tidelog) -> None:
    node = str(follower(tidelog))
    assert tidelog("cluster", "add-voter", node).code == Exit.REFUSED
    assert tidelog("cluster", "remove-voter", node).out == f"Broker {node} votes no longer.\n"
    assert node not in map(str, tidelog("cluster", "status", "--json").json["quorum"]["voters"])
    assert tidelog("cluster", "remove-voter", node).code == Exit.NOT_FOUND

    def follows() -> bool:
        members = tidelog("cluster", "quorum", "--json").json["members"]
        return any(str(member["id"]) == node and member["role"] == "observer" for member in members)

    eventually(follows)
    done = tidelog("cluster", "add-voter", node)
    assert done.code == Exit.OK, done.err
    assert tidelog("cluster", "status", "--json").json["quorum"]["voters"] == [1, 2, 3]


def test_what_is_refused(tidelog: Tidelog, topic: str, tmp_path: Path) -> None:
    def refused(code: Exit, words: str, *arguments: str) -> None:
        done = tidelog(*arguments)
        assert (done.code, words in done.err) == (code, True), done.err

    refused(Exit.NOT_FOUND, "no broker 9", "topic", "reassign", topic, "--brokers", "1,9")
    refused(Exit.NOT_FOUND, "There is no topic", "topic", "reassign", "no-such-topic", "-r", "1")
    refused(Exit.NOT_FOUND, "[77] does not exist", "topic", "reassign", f"{topic}:77", "-r", "1")
    refused(Exit.REFUSED, "cannot have 4 replicas", "topic", "reassign", topic, "-r", "4")
    refused(Exit.REFUSED, "cannot have 2 replicas on 1", "topic", "reassign", topic, "--brokers", "1")
    refused(Exit.NOT_FOUND, "no broker 9", "cluster", "drain", "9")
    refused(Exit.REFUSED, "is alive", "cluster", "unregister", "1")
    refused(Exit.NOT_FOUND, "does not follow", "cluster", "add-voter", "9")
    refused(Exit.NOT_FOUND, "is no voter", "cluster", "remove-voter", "9")
    refused(Exit.NOT_FOUND, "does not exist", "cluster", "elect-leaders", f"{topic}:77")
    entry = {"topic": "no-such-topic", "partition": 0, "replicas": [1]}
    (tmp_path / "plan.json").write_text(json.dumps({"partitions": [entry]}))
    refused(Exit.NOT_FOUND, "There is no topic", "topic", "reassign", "-f", str(tmp_path / "plan.json"))
    refused(Exit.USAGE, "is not a plan", "topic", "reassign", "-f", __file__)


def test_a_person_is_asked_first(tidelog: Tidelog, topic: str) -> None:
    before = replicas(tidelog, topic)
    done = tidelog("topic", "reassign", topic, "-r", "3", typed=b"n\n")
    assert done.code == Exit.FAILED
    assert "Nothing was moved." in done.err
    assert replicas(tidelog, topic) == before


def test_a_broker_that_dies_is_reported_and_comes_back(
    tidelog: Tidelog, topic: str, fleet: FleetProcess
) -> None:
    healthy(tidelog)
    numbers = b"".join(b"%d\n" % number for number in range(100))
    assert tidelog("produce", topic, stdin=numbers).code == Exit.OK
    node = follower(tidelog)
    killed, said = fleet.pid(node), len(fleet.err.read_text())
    fleet.send(node, signal.SIGKILL)
    eventually(lambda: f"Broker {node} answers again" in fleet.err.read_text()[said:], 60)
    assert f"Broker {node} exited unexpectedly (killed by SIGKILL)." in fleet.err.read_text()[said:]
    eventually(lambda: fleet.pid(node) != killed, 60)
    healthy(tidelog)
    assert sorted(map(int, tidelog("consume", topic).out.split())) == list(range(100))


def test_preferred_leaders_come_back_when_told(tidelog: Tidelog, topic: str, fleet: FleetProcess) -> None:
    healthy(tidelog)
    node = follower(tidelog)
    pid = fleet.pid(node)
    fleet.send(node, signal.SIGTERM)
    eventually(lambda: fleet.facts is not None and fleet.pid(node) != pid, 60)
    assert f"Broker {node} was stopped from outside." in fleet.err.read_text()
    status = healthy(tidelog)
    if status["away_from_preferred_leader"]:
        assert tidelog("cluster", "elect-leaders", "--dry-run").out.startswith("Would elect")
        assert tidelog("cluster", "elect-leaders").out.startswith("Elected a new leader for")
    assert tidelog("cluster", "elect-leaders", topic).out == "No election is needed.\n"
    assert healthy(tidelog)["away_from_preferred_leader"] == []
