"""The operator's commands against Apache Kafka: they speak the protocol, not to our own brokers alone."""

import uuid
from typing import Any

import pytest

from tests.interop.apache_cluster import ApacheCluster
from tests.interop.command_line import Done, Tidelog, run_here
from tests.interop.waiting import eventually
from tidelog.cli.exits import Exit

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def tidelog(
    apache_cluster: ApacheCluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Tidelog:
    def call(*arguments: str, stdin: bytes = b"", typed: bytes | None = None) -> Done:
        return run_here(capsys, monkeypatch, ["-b", apache_cluster.bootstrap, *arguments], stdin, typed)

    return call


def held(tidelog: Tidelog) -> dict[int, int]:
    return {row["id"]: row["replicas"] for row in tidelog("cluster", "brokers", "--json").json}


def test_a_cluster_is_seen(tidelog: Tidelog, apache_cluster: ApacheCluster) -> None:
    status: Any = tidelog("cluster", "status", "--wait", "60", "--json").json
    assert status["health"] == "healthy"
    assert status["cluster_id"] == apache_cluster.cluster_id
    assert status["quorum"]["voters"] == [1, 2, 3]
    rows = tidelog("cluster", "brokers", "--json").json
    assert [(row["id"], row["rack"], row["voter"]) for row in rows] == [
        (1, "a", True),
        (2, "b", True),
        (3, "c", True),
    ]
    quorum = tidelog("cluster", "quorum", "--json").json
    directories = {node.node: node.directory_id for node in apache_cluster.nodes.values()}
    assert {member["id"]: member["directory"] for member in quorum["members"]} == directories


def test_replicas_move_and_throttles_go(tidelog: Tidelog) -> None:
    name = f"apache-{uuid.uuid4().hex[:10]}"
    assert tidelog("topic", "create", name, "-p", "6", "-r", "2").code == Exit.OK
    eventually(lambda: tidelog("topic", "describe", name).code == Exit.OK)
    assert tidelog("produce", name, stdin=b"a\nb\nc\n").code == Exit.OK
    moved = tidelog("topic", "reassign", name, "--brokers", "1,2", "--throttle", "10MiB")
    assert moved.code == Exit.OK, moved.err
    assert "The throttles are removed." in moved.err
    drained = tidelog("cluster", "drain", "1", "--keep-vote")
    assert drained.code == Exit.OK, drained.err
    assert held(tidelog)[1] == 0
    assert tidelog("cluster", "drain", "1", "--cancel").code == Exit.OK

    def is_even() -> bool:
        """Apache Kafka spreads the end of the cordon lazily, and a plan without broker 1 is no plan."""
        assert tidelog("cluster", "rebalance").code == Exit.OK
        counts = held(tidelog).values()
        return max(counts) - min(counts) <= 1

    eventually(is_even)
    assert tidelog("cluster", "elect-leaders").code == Exit.OK
    assert sorted(tidelog("consume", name).out.split()) == ["a", "b", "c"]
    assert tidelog("topic", "reassign", name, "-r", "9").code == Exit.REFUSED
    tidelog("topic", "delete", name, "--yes")


def test_votes_change(tidelog: Tidelog, apache_cluster: ApacheCluster) -> None:
    leader = tidelog("cluster", "quorum", "--json").json["leader"]
    node = 1 if leader != 1 else 2
    assert tidelog("cluster", "remove-voter", str(node)).code == Exit.OK
    # Apache Kafka has controllers listen elsewhere than brokers.
    where = f"localhost:{apache_cluster.nodes[node].controller_port}"

    def added() -> bool:
        return tidelog("cluster", "add-voter", str(node), "--address", where).code == Exit.OK

    eventually(added)
    assert tidelog("cluster", "status", "--json").json["quorum"]["voters"] == [1, 2, 3]
