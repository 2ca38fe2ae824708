"""Commands of operators on a real cluster of three brokers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.command_line import Done, Tidelog, run_here
from tests.interop.waiting import eventually
from tidelog import Producer
from tidelog.cli.exits import Exit
from tidelog.testing import Broker, Cluster

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3) as cluster:
        yield cluster


@pytest.fixture
def tidelog(cluster: Cluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tidelog:
    def call(*arguments: str, stdin: bytes = b"", typed: bytes | None = None) -> Done:
        return run_here(capsys, monkeypatch, ["-b", cluster.bootstrap_servers, *arguments], stdin, typed)

    return call


@pytest.fixture(scope="module")
def topics(cluster: Cluster) -> None:
    """One with three replicas, of which two must be in sync, and one with a single replica on broker 1."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    wanted = [NewTopic("kept", 3, 3), NewTopic("single", 1, replica_assignment=[[1]])]
    for created in admin.create_topics(wanted).values():
        created.result(20)


@pytest.mark.usefixtures("topics")
def test_a_broker_may_be_stopped_while_the_others_are_up(tidelog: Tidelog) -> None:
    done = tidelog("cluster", "can-stop", "3", "--wait", "30")
    assert (done.code, done.out) == (Exit.OK, "Broker 3 may be stopped.\n")


@pytest.mark.usefixtures("topics")
def test_the_only_replica_of_a_partition_is_in_the_way(tidelog: Tidelog) -> None:
    done = tidelog("cluster", "can-stop", "1", "--wait", "30", "--json")  # no waiting helps
    assert done.code == Exit.FAILED
    assert [(one["rule"], one["topic"]) for one in done.json["obstacles"]] == [("keeps_leader", "single")]
    assert tidelog("cluster", "can-stop", "1", "--tolerate-unavoidable").code == Exit.OK


@pytest.mark.usefixtures("topics")
def test_no_second_broker_may_be_stopped(cluster: Cluster, tidelog: Tidelog) -> None:
    cluster.stop_broker(3)
    try:
        done = tidelog("cluster", "can-stop", "2")
        assert done.code == Exit.FAILED
        assert "3 partitions (kept:0, kept:1, kept:2) would have fewer in-sync replicas" in done.out
        # The leader misses a voter only after a while.
        eventually(lambda: "The quorum would lose its majority" in tidelog("cluster", "can-stop", "2").out)
    finally:
        cluster.restart(3)
    done = tidelog("cluster", "can-stop", "2", "--wait", "60")
    assert (done.code, done.out) == (Exit.OK, "Broker 2 may be stopped.\n")


def test_an_unknown_broker_is_not_found(tidelog: Tidelog) -> None:
    assert tidelog("cluster", "can-stop", "9").code == Exit.NOT_FOUND


def test_features_are_shown_raised_and_lowered(cluster: Cluster, tidelog: Tidelog) -> None:
    shown = {one["name"]: one for one in tidelog("cluster", "features", "--json").json["features"]}
    elr = shown["eligible.leader.replicas.version"]
    assert elr["level"] == 1
    assert [(one["broker"], one["max"]) for one in elr["supported"]] == [(1, 1), (2, 1), (3, 1)]
    assert tidelog("cluster", "upgrade").out.startswith("Nothing to change")
    assert tidelog("cluster", "can-stop", "2", "--wait", "60").code == Exit.OK  # all replicas are in sync

    lower = ("cluster", "upgrade", "--feature", "eligible.leader.replicas.version=0")
    refused = tidelog(*lower)
    assert refused.code == Exit.REFUSED
    assert "without setting the upgrade type" in refused.err
    assert tidelog(*lower, "--downgrade").code == Exit.OK
    dry = tidelog("cluster", "upgrade", "--dry-run", "--json").json
    raised = [{"feature": "eligible.leader.replicas.version", "from": 0, "to": 1}]
    assert dry == {"dry_run": True, "changes": raised}
    assert tidelog("cluster", "upgrade", "--json").json == {"dry_run": False, "changes": raised}
    assert tidelog("cluster", "upgrade", "--feature", "group.version=0", "--downgrade").code == Exit.REFUSED


def test_an_upgrade_waits_for_brokers_that_are_away(cluster: Cluster, tidelog: Tidelog) -> None:
    cluster.stop_broker(3)
    try:
        refused = tidelog("cluster", "upgrade")
        assert refused.code == Exit.REFUSED
        assert "Broker 3 is registered and does not answer" in refused.err
    finally:
        cluster.restart(3)


def test_log_levels_are_seen_and_changed(tidelog: Tidelog) -> None:
    changed = tidelog("log-level", "tidelog.broker.isr=debug", "--json").json
    assert changed == [{"broker": id, "levels": {"tidelog.broker.isr": "DEBUG"}} for id in (1, 2, 3)]
    assert tidelog("log-level", "2", "tidelog.broker.isr").out.splitlines()[1].split()[1] == "DEBUG"
    assert tidelog("log-level", "tidelog.broker.isr=default").code == Exit.OK
    levels = tidelog("log-level", "1", "--json").json[0]["levels"]
    assert levels["tidelog.broker.isr"] == levels["root"]
    refused = tidelog("log-level", "no.such=debug")
    assert refused.code == Exit.REFUSED
    assert "Logger no.such does not exist!" in refused.err


def codes(done: Done) -> dict[str, str]:
    return {finding["code"]: finding["severity"] for finding in done.json["findings"]}


@pytest.mark.usefixtures("topics")
def test_the_doctor_of_a_cluster_in_order(tidelog: Tidelog) -> None:
    assert tidelog("cluster", "status", "--wait", "60").code == Exit.OK
    done = tidelog("doctor", "--json")
    found = codes(done)
    passing = {"disk-nearly-full", "low-file-limit", "not-preferred-leaders", "unclean-stop"}
    assert {code: severity for code, severity in found.items() if code not in passing} == {
        "single-replica": "low",
        "min-in-sync-above-replicas": "medium",
    }
    assert done.json["skipped"] == []


@pytest.mark.usefixtures("topics")
def test_the_doctor_of_a_cluster_with_a_broker_down(cluster: Cluster, tidelog: Tidelog) -> None:
    cluster.stop_broker(3)
    try:
        done = tidelog("doctor", "--json")
    finally:
        cluster.restart(3)
    assert done.code == 2
    found = codes(done)
    assert found["broker-away"] == "serious"
    assert found["no-voter-to-spare"] == "serious"
    assert found["replicas-lag"] == "medium"
    mends = {finding["code"]: finding["mend"] for finding in done.json["findings"]}
    assert "tidelog cluster drain 3" in mends["broker-away"]


@pytest.mark.usefixtures("topics")
def test_the_doctor_after_a_kill(cluster: Cluster, tidelog: Tidelog) -> None:
    cluster.kill(3)
    cluster.restart(3)
    found = [one for one in tidelog("doctor", "--json").json["findings"] if one["code"] == "unclean-stop"]
    assert [(one["where"], one["severity"]) for one in found] == [("broker 3", "low")]


def test_the_doctor_of_a_cluster_with_tls(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes a handshake with every listener, and finds nothing wrong with good certificates."""
    with Cluster(brokers=1, security="ssl") as secured:
        config = secured.client_config()
        options = [
            word
            for name, value in config.items()
            if name != "log_level"
            for word in ("-X", f"{name}={value}")
        ]
        done = run_here(
            capsys, monkeypatch, ["-b", secured.bootstrap_servers, "doctor", "--json", *options], b"", None
        )
    assert not {code for code in codes(done) if "certificate" in code or code == "no-handshake"}


def test_the_doctor_of_a_stopped_broker(tmp_path: Path, tidelog: Tidelog) -> None:
    with Broker(data_dir=tmp_path) as broker, Producer(broker.client_config()) as producer:
        producer.send("orders", "one").result(20)
        running = tidelog("doctor", "--data", str(tmp_path))
        assert running.code == Exit.FAILED
        assert "A broker uses" in running.err
    assert "unclean-stop" not in codes(tidelog("doctor", "--data", str(tmp_path), "--json"))
    [segment] = tmp_path.glob("orders-0/*.log")
    segment.write_bytes(b"\xff" * segment.stat().st_size)
    done = tidelog("doctor", "--data", str(tmp_path), "--json")
    assert (done.code, codes(done)["logs-damaged"]) == (2, "serious")


def test_the_status_line_of_a_pipe(
    cluster: Cluster, tidelog: Tidelog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tidelog.cli.watch.time.sleep", sleep)
    done = tidelog("cluster", "status", "--watch")
    assert done.code == Exit.INTERRUPTED
    [line] = done.out.splitlines()
    assert " brokers=3/3 controller=" in line
    assert "group_lag=" in line
