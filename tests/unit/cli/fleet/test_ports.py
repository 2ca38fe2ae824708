"""Where the brokers of a cluster on one machine listen, and what is refused before any of them starts."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tidelog.base.config.config import load
from tidelog.base.listener import Listener
from tidelog.cli.cores.plan import plan_cores
from tidelog.cli.exits import CliError
from tidelog.cli.fleet.core_numbers import PORT_STEP, port_row
from tidelog.cli.fleet.plan import FleetPlan, plan_fleet
from tidelog.cli.fleet.ports import (
    first_ports,
    more_ports,
    refuse_ports_beyond_the_last,
    refuse_taken_ports,
)
from tidelog.cli.fleet.record import Recorded
from tidelog.cli.fleet.secured import secured_plan
from tidelog.cli.security import local
from tidelog.cli.security.secured_settings import BROKER_PORT_DISTANCE
from tidelog.cli.up.ports import FIRST_PORTS, METRICS, REGISTRY, http_ports
from tidelog.cli.up.settings import given_config
from tidelog.server.free_ports import free_ports

HERE = Listener("PLAINTEXT", "localhost", 9092)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("TIDELOG_")]:
        monkeypatch.delenv(name)


@contextmanager
def taken_port() -> Iterator[int]:
    """The port of a second core, where that of the first one is free."""
    [first] = free_ports("localhost", 1, in_a_row=2, step=PORT_STEP)
    with socket.create_server(("localhost", first + PORT_STEP)):
        yield first + PORT_STEP


def planned(data: Path, recorded: Recorded) -> FleetPlan:
    http = {"metrics.port": "0", "schema.registry.port": "0"}
    return plan_fleet(recorded, None, str(data), None, None, http)


def test_a_port_is_the_first_of_several() -> None:
    assert first_ports(HERE, None, 3, 1) == [9092, 9093, 9094]
    assert first_ports(HERE, 100, 3, cores=4) == [100, 101, 102]


def test_free_ports_differ() -> None:
    ports = first_ports(HERE, 0, 3, 1)
    assert len(set(ports)) == 3
    assert 0 not in ports


def test_brokers_that_join_have_the_next_ports_or_free_ones() -> None:
    assert more_ports([9092, 9093], HERE, 2, 1) == [9094, 9095]
    [apart] = more_ports([50_001, 40_001], HERE, 1, 1)
    assert apart not in (0, 50_001, 40_001, 50_002)


@pytest.mark.parametrize(
    ("ports", "cores", "words"),
    [
        ([65_534, 65_535, 65_536], 1, "3 brokers from port 65534 on would end at 65536"),
        ([65_400, 65_401], 3, "2 brokers of 3 cores from port 65400 on would end at 65601"),
    ],
)
def test_there_is_a_last_port(ports: list[int], cores: int, words: str) -> None:
    with pytest.raises(CliError, match=words):
        refuse_ports_beyond_the_last(ports, cores)
    with pytest.raises(CliError) as caught:
        refuse_ports_beyond_the_last(ports, cores, is_new=False)
    assert "--port" not in str(caught.value.attempt), "a known cluster keeps its ports"
    refuse_ports_beyond_the_last([port - 300 for port in ports], cores)


def test_the_port_of_every_core_must_be_free(tmp_path: Path) -> None:
    with taken_port() as port:
        made = planned(tmp_path, Recorded("c", [port - PORT_STEP], [1], cores=2))
        with pytest.raises(CliError, match=f"Port {port} of localhost:{port - PORT_STEP} is taken") as told:
            refuse_taken_ports(made)
        assert str(told.value.cause).endswith("each further core of a machine listens 100 ports higher.")
        with pytest.raises(CliError) as told:
            refuse_taken_ports(replace(made, cores_before=1))
        assert str(told.value.attempt).endswith("or stay with --cores 1")
        refuse_taken_ports(planned(tmp_path, Recorded("c", [port - PORT_STEP], [1], cores=1)))


def test_ports_are_chosen_so_that_further_cores_find_theirs_free(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with taken_port() as port:
        first = port - PORT_STEP
        monkeypatch.setitem(FIRST_PORTS, METRICS, first)
        config = given_config(None, {})
        assert http_ports(config, METRICS, 1, any_free=False)[0] == first
        assert http_ports(config, METRICS, 1, any_free=False, rows=range(0, 200, PORT_STEP))[0] != first
        recorded = Recorded("c", [first - BROKER_PORT_DISTANCE], [1], cores=1)
        assert secured_plan(planned(tmp_path, recorded)).members[0].broker_port == first
        recorded = replace(recorded, cores=2)
        assert secured_plan(planned(tmp_path, recorded)).members[0].broker_port != first


def test_metrics_and_schemas_have_ports_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing listens at those of the brokers yet, so they look free."""
    [first] = free_ports("localhost", 1, in_a_row=4, step=PORT_STEP)
    for what in (METRICS, REGISTRY):
        monkeypatch.setitem(FIRST_PORTS, what, first + PORT_STEP)
    [member] = plan_fleet(Recorded("c", [first], [1], cores=2), None, str(tmp_path), None, None, {}).members
    rows = [port_row(port, 2) for port in (first, member.metrics_port, member.registry_port)]
    assert len({port for row in rows for port in row}) == 6
    settings = {"listeners": f"PLAINTEXT://localhost:{first}", "log.dirs": str(tmp_path)}
    for what in (METRICS, REGISTRY):
        monkeypatch.setitem(FIRST_PORTS, what, first)
    cores = plan_cores(load(None, {}, settings), None, settings, 2, 1, is_alone=True).members
    assert {first, first + 1}.isdisjoint(core.metrics_port for core in cores)


def test_ports_of_metrics_are_free_for_cores_that_leave_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with taken_port() as port:
        monkeypatch.setitem(FIRST_PORTS, METRICS, port - PORT_STEP)
        recorded = Recorded("c", [1], [1], cores=1)
        for cores, is_taken in ((1, True), (2, False)):
            os.makedirs(tmp_path / "node-1" / "cores" / str(cores - 1), exist_ok=True)
            [member] = plan_fleet(recorded, None, str(tmp_path), None, None, {}).members
            assert member.cores == cores
            assert (member.metrics_port == port - PORT_STEP) is is_taken


def test_ports_between_brokers_are_not_those_of_clients(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    [first] = free_ports("localhost", 1, in_a_row=3, step=PORT_STEP)
    monkeypatch.setattr(local, "BROKER_PORT_DISTANCE", PORT_STEP)
    [member] = secured_plan(planned(tmp_path, Recorded("c", [first], [1], cores=2))).members
    assert member.broker_port is not None
    assert set(port_row(member.broker_port, 2)).isdisjoint(port_row(first, 2))


def test_a_port_for_two_brokers_is_refused(tmp_path: Path) -> None:
    """Free ports were chosen when the machines had a core each."""
    made = planned(tmp_path, Recorded("c", [20_100, 20_000], [1], cores=2))
    with pytest.raises(CliError, match="Two brokers of this cluster want port 20100"):
        refuse_taken_ports(made)


def test_a_taken_port_between_brokers_is_named_as_such(tmp_path: Path) -> None:
    [member] = planned(tmp_path, Recorded("c", [0], [1])).members
    with taken_port() as port:
        made = replace(
            planned(tmp_path, Recorded("c", [0], [1])), members=(replace(member, broker_port=port),)
        )
        words = f"Port {port}, where the brokers meet each other, is taken"
        with pytest.raises(CliError, match=words) as told:
            refuse_taken_ports(made)
    assert f"lsof -i :{port}" in str(told.value.attempt)
