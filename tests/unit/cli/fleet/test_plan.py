"""Which brokers a cluster on one machine gets, at its first start and at later ones."""

import os
import socket
from pathlib import Path

import pytest

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.fleet.plan import FleetPlan, plan_fleet, stop_order, voter_ids
from tidelog.cli.fleet.record import Recorded
from tidelog.cli.up.ports import FIRST_PORTS, METRICS, http_ports
from tidelog.cli.up.settings import given_config

RECORDED = Recorded("theirs", [9092, 9093, 9094], [1, 2, 3])


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("TIDELOG_")]:
        monkeypatch.delenv(name)


def planned(
    recorded: Recorded | None = None,
    brokers: int | None = 3,
    data: str = "/nowhere",
    port: int | None = None,
    **flags: str,
) -> FleetPlan:
    given = {
        "metrics_port": "9404",
        "schema_registry_port": "8081",
        **flags,
    }  # given, or the plan would depend on what listens here
    return plan_fleet(
        recorded, brokers, data, port, None, {name.replace("_", "."): text for name, text in given.items()}
    )


def test_a_new_cluster() -> None:
    plan = planned()
    assert plan.bootstrap_servers == "localhost:9092,localhost:9093,localhost:9094"
    assert [member.log_dir for member in plan.members] == [f"/nowhere/node-{id}" for id in (1, 2, 3)]
    second = plan.settings_of(plan.members[1])
    assert second == {
        "node.id": "2",
        "cluster.id": plan.recorded.cluster_id,
        "controller.quorum.voters": "1@localhost:9092,2@localhost:9093,3@localhost:9094",
        "listeners": "PLAINTEXT://localhost:9093",
        "advertised.listeners": "PLAINTEXT://localhost:9093",
        "log.dirs": "/nowhere/node-2",
        "metrics.port": "9405",
        "schema.registry.port": "8082",
        "default.replication.factor": "3",
        "min.insync.replicas": "2",
    }


@pytest.mark.parametrize(
    ("brokers", "voters", "replicas", "in_sync"),
    [(2, [1], "2", "1"), (3, [1, 2, 3], "3", "2"), (4, [1, 2, 3], "3", "2"), (9, [1, 2, 3, 4, 5], "3", "2")],
)
def test_an_odd_number_votes(brokers: int, voters: list[int], replicas: str, in_sync: str) -> None:
    plan = planned(brokers=brokers)
    assert plan.recorded.voters == voters == list(voter_ids(brokers))
    settings = plan.settings_of(plan.members[-1])
    assert (settings["default.replication.factor"], settings["min.insync.replicas"]) == (replicas, in_sync)


def test_ids_of_clusters_differ() -> None:
    assert planned().recorded.cluster_id != planned().recorded.cluster_id


def test_settings_of_ones_own_win(tmp_path: Path) -> None:
    everywhere = {"listeners": "X://0.0.0.0:7000", "advertised_listeners": "X://here:7000"}
    plan = planned(min_insync_replicas="1", cluster_id="mine", **everywhere)
    settings = plan.settings_of(plan.members[2])
    assert settings["min.insync.replicas"] == "1"
    assert settings["listeners"] == "X://0.0.0.0:7002"
    assert settings["advertised.listeners"] == "X://here:7002"
    assert settings["cluster.id"] == "mine"
    assert plan.bootstrap_servers == "here:7000,here:7001,here:7002"
    file = tmp_path / "b.yaml"
    file.write_text("default.replication.factor: 1\n")
    plan = plan_fleet(None, 3, "/nowhere", None, str(file), {})
    assert "default.replication.factor" not in plan.settings_of(plan.members[0])


def test_a_known_cluster_comes_back_as_it_was() -> None:
    plan = planned(RECORDED, brokers=None)
    assert plan.recorded == RECORDED
    assert not plan.is_new
    assert planned(RECORDED, port=9092).recorded == RECORDED
    assert planned(RECORDED, port=0).recorded == RECORDED


def test_a_known_cluster_may_grow_and_its_voters_stay() -> None:
    plan = planned(RECORDED, brokers=5)
    assert plan.recorded.ports == [9092, 9093, 9094, 9095, 9096]
    assert plan.settings_of(plan.members[4])["controller.quorum.voters"].count("@") == 3
    apart = planned(Recorded("c", [50_001, 40_001], [1]), brokers=3)
    assert apart.recorded.ports[:2] == [50_001, 40_001]
    assert apart.recorded.ports[2] not in (0, 50_001, 40_001)


@pytest.mark.parametrize(
    ("brokers", "port", "flags", "words"),
    [
        (2, None, {}, "a cluster of 3 brokers, not of 2"),
        (None, 9093, {}, "listens from port 9092 on"),
        (None, None, {"cluster_id": "mine"}, "holds cluster theirs, not mine"),
        (None, None, {"node_id": "2"}, "node.id cannot be set for several brokers"),
        (None, None, {"log_dirs": "/x"}, "log.dirs cannot be set"),
        (None, None, {"controller_quorum_voters": "1@a:1"}, "voters cannot be set"),
        (None, None, {"listeners": "A://localhost:1,B://localhost:2"}, "2 listeners each"),
    ],
)
def test_what_a_cluster_cannot_do(
    brokers: int | None, port: int | None, flags: dict[str, str], words: str
) -> None:
    with pytest.raises(CliError, match=words) as caught:
        planned(RECORDED, brokers, "/nowhere", port, **flags)
    assert caught.value.code is Exit.USAGE


def test_the_directory_of_a_single_broker_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("")
    with pytest.raises(CliError, match="holds the data of a single broker"):
        planned(data=str(tmp_path))


def test_those_without_a_vote_stop_first_and_the_controller_last() -> None:
    """With two of three voters gone there is no controller that broker 4 could hand its partitions to."""
    assert stop_order([1, 2, 3, 4], {1, 2, 3}, 2) == [4, 1, 3, 2]
    assert stop_order([1, 2, 3, 4, 5], {3, 4, 5}, None) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("given", "ports"), [("0", [0, 0, 0]), ("-1", [-1, -1, -1]), ("9500", [9500, 9501, 9502])]
)
def test_each_broker_has_a_port_for_metrics(given: str, ports: list[int]) -> None:
    plan = planned(metrics_port=given)
    assert [member.metrics_port for member in plan.members] == ports
    assert plan.metrics_urls == [f"http://localhost:{port}/metrics" for port in ports if port > 0]


def test_each_broker_has_a_port_for_the_schema_registry() -> None:
    plan = planned(schema_registry_port="8100")
    assert [member.registry_port for member in plan.members] == [8100, 8101, 8102]
    assert plan.registry_urls == [f"http://localhost:{port}" for port in (8100, 8101, 8102)]
    assert planned(schema_registry_port="0").registry_urls == []
    assert planned(schema_registry_security_protocol="SSL", ssl_keystore_location="k").registry_urls[0] == (
        "https://localhost:8081"
    )


def test_without_the_setting_metrics_are_at_the_next_free_ports() -> None:
    with socket.create_server(("localhost", 0)) as taken:
        ports = http_ports(given_config(None, {}), METRICS, 3, any_free=False)
        assert taken.getsockname()[1] not in ports
    assert all(port >= FIRST_PORTS[METRICS] for port in ports)
    assert len(set(ports)) == 3
