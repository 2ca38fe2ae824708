"""Rows of brokers and of the quorum's members."""

import pytest

from tidelog.cli.cluster.health import Report
from tidelog.cli.cluster.log_dir_sizes import Stored
from tidelog.cli.cluster.quorum import Listener, Member, Quorum
from tidelog.cli.cluster.tables import broker_rows, member_rows, show_brokers, show_quorum, show_status
from tidelog.cli.cluster.view import Broker, ClusterView, Partition
from tidelog.clients.records import TopicPartition

QUORUM = Quorum(
    leader=2,
    epoch=7,
    high_watermark=90,
    members=(
        Member(1, True, bytes(16), 80, 1000, 900, ()),
        Member(2, True, b"\1" * 16, 100, 2000, 2000, (Listener("X", "h", 5),)),
        Member(4, False, bytes(16), -1, None, None, ()),
    ),
)


def test_brokers() -> None:
    held = Partition(TopicPartition("t", 0), 1, (1, 2), (1,))
    view = ClusterView(
        "c", 2, {1: Broker(1, "a", 1, "r"), 2: Broker(2, "b", 2, fenced=True)}, {held.place: held}
    )
    first, second = broker_rows(view, QUORUM, {1: Stored({held.place: 10}, free_bytes=5)})
    assert (first["leaders"], first["replicas"], first["not_in_sync"], first["size_bytes"]) == (1, 1, 0, 10)
    assert (first["voter"], first["controller"], first["alive"]) == (True, False, True)
    assert (second["leaders"], second["replicas"], second["not_in_sync"]) == (0, 1, 1)
    assert (second["size_bytes"], second["controller"], second["alive"]) == (None, True, False)


def test_the_rack_is_shown_where_there_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    for rack, expected in (("r", True), (None, False)):
        show_brokers(broker_rows(ClusterView("c", 1, {1: Broker(1, "a", 1, rack)}, {}), None, {}))
        assert ("Rack" in capsys.readouterr().out) is expected


def test_a_broker_that_was_just_killed(capsys: pytest.CaptureFixture[str]) -> None:
    """The controller still takes it for alive."""
    view = ClusterView("c", 1, {1: Broker(1, "a", 1), 2: Broker(2, "b", 2)}, {})
    rows = broker_rows(view, QUORUM, {}, silent={1})
    assert [(row["alive"], row["answers"]) for row in rows] == [(True, False), (True, True)]
    show_brokers(rows)
    assert "does not answer, voter" in capsys.readouterr().out


def test_members() -> None:
    follower, leader, observer = member_rows(QUORUM, 2500, {2: "elsewhere:1", 4: "k:9"})
    assert (leader["role"], leader["lag"], leader["address"]) == ("leader", 0, "h:5")
    assert leader["directory"] == "AQEBAQEBAQEBAQEBAQEBAQ"
    assert (follower["role"], follower["lag"], follower["last_contact_ms_ago"]) == ("voter", 20, 1500)
    assert (follower["directory"], follower["caught_up_ms_ago"]) == (None, 1600)
    assert (observer["role"], observer["lag"], observer["end_offset"]) == ("observer", None, None)
    assert (follower["address"], observer["address"]) == (None, "k:9")


def test_how_many_must_agree(capsys: pytest.CaptureFixture[str]) -> None:
    show_quorum(QUORUM, 2500, {})
    assert "2 voters, 2 must agree" in capsys.readouterr().out


def test_without_a_controller_no_broker_is_called_alive(capsys: pytest.CaptureFixture[str]) -> None:
    view = ClusterView("c", 1, {1: Broker(1, "a", 1), 2: Broker(2, "b", 2)}, {})
    show_status(Report(view, None, []))
    shown = capsys.readouterr().out
    assert "Cluster c is impaired" in shown
    assert "2 registered; which of them are alive is unknown without a controller" in shown
    show_status(Report(view, QUORUM, []))
    assert "2 of 2 alive" in capsys.readouterr().out


def test_a_machine_unfolds_into_its_brokers(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = [
        Broker(1, "a", 1, machine="m1"),
        Broker(1001, "a", 2, machine="m1", fenced=True),
        Broker(2, "b", 1),
    ]
    view = ClusterView("c", 1, {broker.id: broker for broker in brokers}, {})
    show_brokers(broker_rows(view, QUORUM, {}))
    assert "Machine" in capsys.readouterr().out
    report = Report(view, QUORUM, [])
    show_status(report)
    assert "m1: 1 and 1001, 1001 fenced" in capsys.readouterr().out
    assert report.as_json()["machines"] == {"m1": [1, 1001]}
    assert (view.neighbours(1), view.neighbours(2)) == ([1001], [])
    assert view.neighbours(77) == [], "it may have another listener alone"
