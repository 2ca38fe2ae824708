"""What each core is given."""

import pytest

from tidelog.base.config.config import load
from tidelog.cli.cores.plan import CoresPlan, plan_cores
from tidelog.cli.exits import CliError


def planned(count: int = 3, known: int = 1, **flags: str) -> CoresPlan:
    given = {
        "node.id": "2",
        "listeners": "PLAINTEXT://h:9092",
        "log.dirs": "/a,/b",
        **{name.replace("_", "."): text for name, text in flags.items()},
    }
    return plan_cores(load(None, {}, given), None, given, count, known)


def test_the_first_core_is_the_broker_that_a_machine_with_one_core_has() -> None:
    plan = planned()
    first = plan.settings_of(plan.members[0])
    assert (first["node.id"], first["listeners"], first["log.dirs"]) == ("2", "PLAINTEXT://h:9092", "/a,/b")
    assert first["controller.quorum.voters"] == "2@h:9092"
    assert (first["broker.machine"], first["broker.cores"]) == ("2", "3")
    assert plan.bootstrap_servers == "h:9092"


def test_further_cores_have_ids_ports_and_log_dirs_of_their_own() -> None:
    plan = planned(advertised_listeners="PLAINTEXT://public:19092", metrics_port="9404")
    last = plan.settings_of(plan.members[2])
    assert (last["node.id"], last["listeners"]) == ("2002", "PLAINTEXT://h:9094")
    assert last["advertised.listeners"] == "PLAINTEXT://public:19094"
    assert last["log.dirs"] == "/a/cores/2,/b/cores/2"
    assert last["controller.quorum.voters"] == "2@public:19092"
    assert last["metrics.port"] == "9406"
    assert plan.broker_addresses == "public:19092,public:19093,public:19094"


def test_ports_of_cores_may_lie_apart() -> None:
    given = {"node.id": "2", "listeners": "PLAINTEXT://h:9093", "log.dirs": "/a", "metrics.port": "9405"}
    plan = plan_cores(load(None, {}, given), None, given, 2, 1, port_step=100)
    assert plan.settings_of(plan.members[1])["listeners"] == "PLAINTEXT://h:9193"
    assert plan.settings_of(plan.members[1])["metrics.port"] == "9505"
    assert plan.broker_addresses == "h:9093,h:9193"
    given |= {"listeners": "A://h:1,B://h:101", "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT"}
    with pytest.raises(CliError, match="each needs 2 ports, 100 apart"):
        plan_cores(load(None, {}, given), None, given, 2, 1, port_step=100)


def test_a_broker_of_a_cluster_serves_no_metrics_unless_asked() -> None:
    plan = planned()
    assert [plan.settings_of(member)["metrics.port"] for member in plan.members] == ["0", "0", "0"]


def test_each_core_has_an_audit_file_of_its_own() -> None:
    """They rename it at its maximum size, each by its own count."""
    plan = planned(audit_file="/var/log/audit.log")
    files = [plan.settings_of(member)["audit.file"] for member in plan.members]
    assert files == ["/var/log/audit.log", "/var/log/audit-1.log", "/var/log/audit-2.log"]
    assert "audit.file" not in planned().settings_of(planned().members[1])


@pytest.mark.parametrize(("named", "expected"), [("/b", "/b/cores/1"), ("all", "all")])
def test_log_dirs_that_are_encrypted_are_so_on_each_core(named: str, expected: str) -> None:
    plan = planned(log_dirs_encryption=named, log_dirs_encryption_key_file="/k")
    encrypted = [plan.settings_of(member)["log.dirs.encryption"] for member in plan.members[:2]]
    assert encrypted == [named, expected]
    assert "log.dirs.encryption" not in planned().settings_of(planned().members[1])


def test_voters_and_a_machine_of_the_settings_stay() -> None:
    plan = planned(controller_quorum_voters="1@x:1,2@h:9092", broker_machine="m")
    assert "1@x:1" in plan.settings_of(plan.members[1])["controller.quorum.voters"]
    assert plan.settings_of(plan.members[1])["broker.machine"] == "m"


def test_limits_of_the_machine_are_shared_out() -> None:
    plan = planned(4, background_threads="16", log_cleaner_threads="2", max_connections="1001")
    shares = plan.settings_of(plan.members[1])
    assert (shares["background.threads"], shares["log.cleaner.threads"]) == ("4", "1")
    assert shares["max.connections"] == "1001", "the broker divides what may change while it runs"


def test_cores_of_an_earlier_start_run_until_they_are_empty() -> None:
    plan = planned(1, known=3)
    assert [member.id for member in plan.members] == [2, 1002, 2002]
    assert plan.leaving == [1002, 2002]
    assert planned(3, known=2).leaving == []


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ({"node.id": "1000"}, "node.id 1000 is too large"),
        ({"listeners": "A://h:9092,B://h:9094"}, "listeners A and B overlap"),
        ({"listeners": "PLAINTEXT://h:65534"}, "would end at 65536"),
        ({"listeners": "PLAINTEXT://h:0"}, "Port 0 goes with one core"),
    ],
)
def test_what_cannot_be_is_refused(flags: dict[str, str], why: str) -> None:
    given = {"listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT,PLAINTEXT:PLAINTEXT", **flags}
    with pytest.raises(CliError, match=why):
        plan_cores(load(None, {}, given), None, given, 3, 1)
