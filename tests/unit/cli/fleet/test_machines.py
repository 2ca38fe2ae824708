"""A cluster of machines with several cores each: what every machine is given, and what it was before."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tidelog.base.config.config import load
from tidelog.cli.cores.machine import machine_in_cluster
from tidelog.cli.cores.plan import CoresPlan
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.fleet.core_numbers import PORT_STEP
from tidelog.cli.fleet.member import command_of
from tidelog.cli.fleet.plan import FleetPlan, MemberPlan, plan_fleet, stop_turns
from tidelog.cli.fleet.record import Recorded, recorded_fleet
from tidelog.cli.fleet.secured import prepare_security, secured_plan
from tidelog.cli.fleet.supervisor import Fleet
from tidelog.cli.fleet.voice import banner, ready_facts
from tidelog.server.free_ports import free_ports

ONE_CORE = Recorded("c", [9092, 9093, 9094], [1, 2, 3])
TWO_CORES = Recorded("c", [9092, 9093, 9094], [1, 2, 3], cores=2)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("TIDELOG_")]:
        monkeypatch.delenv(name)


def planned(
    recorded: Recorded | None = None,
    cores: str | None = None,
    brokers: int | None = 3,
    data: str = "/nowhere",
) -> FleetPlan:
    given = {"metrics.port": "9404", "schema.registry.port": "8081"}
    given |= {} if cores is None else {"broker.cores": cores}
    return plan_fleet(recorded, brokers, data, None, None, given)


def cores_of(plan: FleetPlan, member: MemberPlan) -> CoresPlan:
    """What the machine makes of its command."""
    settings = plan.settings_of(member)
    return machine_in_cluster(load(None, {}, settings), None, settings, in_fleet=True)


def test_each_machine_is_a_broker_with_cores() -> None:
    plan = planned(cores="2")
    settings = plan.settings_of(plan.members[1])
    assert settings["broker.cores"] == "2"
    assert settings["controller.quorum.voters"] == "1@localhost:9092,2@localhost:9093,3@localhost:9094"
    assert (settings["default.replication.factor"], settings["min.insync.replicas"]) == ("3", "2")
    assert plan.bootstrap_servers == "localhost:9092,localhost:9093,localhost:9094"
    assert plan.recorded.cores == 2


def test_no_two_cores_have_an_id_a_port_or_a_log_dir_in_common() -> None:
    plan = planned(cores="3")
    made = [
        machine.settings_of(core)
        for machine in (cores_of(plan, member) for member in plan.members)
        for core in machine.members
    ]
    assert [int(each["node.id"]) for each in made[3:6]] == [2, 1002, 2002]
    assert [each["listeners"] for each in made[3:6]] == [
        f"PLAINTEXT://localhost:{port}" for port in (9093, 9193, 9293)
    ]
    assert [each["metrics.port"] for each in made[3:6]] == ["9405", "9505", "9605"]
    assert [each["log.dirs"] for each in made[3:6]] == [
        f"/nowhere/node-2{below}" for below in ("", "/cores/1", "/cores/2")
    ]
    assert {each["broker.machine"] for each in made[3:6]} == {"2"}
    for name in ("node.id", "listeners", "metrics.port", "schema.registry.port", "log.dirs"):
        assert len({each[name] for each in made}) == 9
    assert {each["controller.quorum.voters"] for each in made} == {
        "1@localhost:9092,2@localhost:9093,3@localhost:9094"
    }


def test_metrics_of_every_core_are_named() -> None:
    assert planned(cores="2", brokers=2).metrics_urls == [
        f"http://localhost:{port}/metrics" for port in (9404, 9504, 9405, 9505)
    ]


def test_a_known_cluster_has_its_cores_again_unless_others_are_given() -> None:
    assert planned(TWO_CORES).cores == 2
    assert planned(TWO_CORES, cores="1").recorded == ONE_CORE
    assert planned(ONE_CORE, cores="2").recorded == TWO_CORES
    grown = planned(TWO_CORES, brokers=4)
    assert (grown.recorded.ports, grown.cores) == ([9092, 9093, 9094, 9095], 2)


def test_cores_that_leave_are_there_until_they_are_empty(tmp_path: Path) -> None:
    (tmp_path / "node-2" / "cores" / "1").mkdir(parents=True)
    plan = planned(TWO_CORES, cores="1", data=str(tmp_path))
    assert [member.cores for member in plan.members] == [1, 2, 1]
    assert [member.name for member in plan.members] == ["Broker 1", "Machine 2", "Broker 3"]
    assert cores_of(plan, plan.members[1]).leaving == [1002]
    assert cores_of(plan, plan.members[0]).leaving == []


def test_auto_would_count_the_same_cores_for_each_machine() -> None:
    with pytest.raises(CliError, match="every core of this computer to each of 3 brokers") as caught:
        planned(cores="auto")
    assert caught.value.code is Exit.USAGE
    assert str(caught.value.attempt).startswith("a number: --cores ")


def test_only_a_machine_is_told_that_others_are_beside_it() -> None:
    alone, plan = planned(), planned(cores="2")
    arguments = command_of(plan, plan.members[0]).arguments
    assert arguments[arguments.index("--in-fleet") + 1] == "/nowhere"
    assert "--no-restart" not in arguments
    assert "--no-restart" in command_of(plan, plan.members[0], restart=False).arguments
    for flag in ("--in-fleet", "--no-restart"):
        assert flag not in command_of(alone, alone.members[0], restart=False).arguments


def test_the_cores_of_a_secured_machine_have_ports_between_brokers(tmp_path: Path) -> None:
    plan = secured_plan(planned(cores="2", data=str(tmp_path)))
    prepare_security(plan)
    listeners = [
        machine.settings_of(core)["listeners"]
        for machine in (cores_of(plan, member) for member in plan.members)
        for core in machine.members
    ]
    assert len({port for text in listeners for port in text.split(",")}) == 12
    first, second = (int(text.rpartition(":")[2]) for text in listeners[:2])
    assert second - first == 100


def test_the_last_majority_stops_together() -> None:
    """Without a controller no core can hand over what it leads, and each would wait for one."""
    assert stop_turns([3, 1, 2], {1, 2, 3}, cores=1) == [[3], [1], [2]]
    assert stop_turns([3, 1, 2], {1, 2, 3}, cores=2) == [[3], [1, 2]]
    assert stop_turns([6, 5, 4, 3, 2, 1], set(range(1, 6)), cores=2) == [[6], [5], [4], [3, 2, 1]]
    assert stop_turns([2, 1], {1}, cores=2) == [[2], [1]]
    assert stop_turns([], set(), cores=2) == []


def test_the_banner_unfolds_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    lines = [line.split() for line in banner(planned(cores="2"), None).splitlines()]
    at = next(index for index, line in enumerate(lines) if line[:2] == ["Machine", "2"])
    assert [line[-4:] for line in lines[at : at + 2]] == [
        ["broker", "2", "localhost:9093", "/nowhere/node-2"],
        ["broker", "1002", "localhost:9193", "/nowhere/node-2/cores/1"],
    ]


def test_the_facts_name_the_process_of_every_machine_and_core() -> None:
    plan = planned(cores="2", brokers=2)
    cores = {1: [{"node_id": 1, "pid": 11}, {"node_id": 1001, "pid": 12}]}
    facts = ready_facts(plan, {1: 10, 2: 20}, cores)
    assert [core["pid"] for core in facts["brokers"]] == [11, 12], "machine 2 is down"
    assert facts["machines"] == [
        {"machine": "1", "pid": 10, "brokers": [1, 1001]},
        {"machine": "2", "pid": 20, "brokers": []},
    ]
    assert "machines" not in ready_facts(planned(), {}, {})


def test_a_machine_that_came_back_as_one_broker_is_among_them(tmp_path: Path) -> None:
    """Its further cores have left, and then it was killed."""
    (tmp_path / "node-2" / "cores" / "1").mkdir(parents=True)
    facts = ready_facts(planned(TWO_CORES, cores="1", data=str(tmp_path)), {1: 10, 2: 20, 3: 30}, {2: None})
    assert [(core["node_id"], core["pid"]) for core in facts["brokers"]] == [(1, 10), (2, 20), (3, 30)]
    assert facts["machines"] == [{"machine": "2", "pid": 20, "brokers": [2]}]


def test_the_directory_remembers_the_cores_once_they_answer(tmp_path: Path) -> None:
    """Another number may be refused, and a start that does not name it must work as before."""

    class Starting(Fleet):
        async def _until_stopped(self) -> int:
            started.append(recorded_fleet(str(tmp_path)))
            self._remember_cores()
            return Exit.OK

    started: list[Recorded | None] = []
    known = replace(ONE_CORE, ports=free_ports("localhost", 3, in_a_row=2, step=PORT_STEP))
    plan = planned(known, cores="2", data=str(tmp_path))
    assert Starting(plan, as_json=True, ready_file=None, restart=True).run() == Exit.OK
    assert started == [known]
    assert recorded_fleet(str(tmp_path)) == plan.recorded == replace(known, cores=2)


def test_a_computer_has_only_so_many_cores() -> None:
    with pytest.raises(
        CliError, match="3 brokers with 100 cores each would be 300 processes; 256 is"
    ) as caught:
        planned(cores="100")
    assert caught.value.attempt == "--cores 85, or fewer"
    assert planned(cores="85").cores == 85
