"""What a cluster's state is called, and what a person is told to do about it."""

from dataclasses import replace

from tidelog.cli.cluster.health import Health, Report
from tidelog.cli.cluster.quorum import Member, Quorum
from tidelog.cli.cluster.view import Broker, ClusterView, Partition
from tidelog.clients.records import TopicPartition

QUORUM = Quorum(1, 4, 100, (Member(1, True, bytes(16), 100, 0, 0, ()),))


def part(number: int, leader: int | None, replicas: tuple[int, ...], in_sync: tuple[int, ...]) -> Partition:
    return Partition(TopicPartition("t", number), leader, replicas, in_sync)


def report(*partitions: Partition, fenced: tuple[int, ...] = (), **more: object) -> Report:
    brokers = {id: Broker(id, "h", 9090 + id, fenced=id in fenced) for id in (1, 2, 3)}
    view = ClusterView("c", 1, brokers, {found.place: found for found in partitions})
    return replace(Report(view, QUORUM, []), **more)  # type: ignore[arg-type]


def test_all_is_well() -> None:
    found = report(part(0, 1, (1, 2, 3), (1, 2, 3)))
    assert found.health is Health.HEALTHY
    assert found.findings() == []
    assert found.as_json()["health"] == "healthy"


def test_a_broker_that_is_away_degrades() -> None:
    found = report(part(0, 1, (1, 2, 3), (1, 2)), fenced=(3,), min_in_sync={"t": 2})
    assert found.health is Health.DEGRADED
    assert [finding.what for finding in found.findings()] == [
        "Broker 3 is registered, but not alive.",
        "1 partition with replicas that are not in sync: t[0].",
    ]
    assert (found.findings()[1].attempt or "").startswith("start the brokers that are down")
    behind = report(part(0, 1, (1, 2, 3), (1, 2)), min_in_sync={"t": 2})
    assert [finding.attempt for finding in behind.findings()] == ["wait until they have caught up"]
    several = report(fenced=(2, 3))
    assert several.findings()[0].what == "Brokers 2 and 3 are registered, but not alive."


def test_too_few_in_sync_impairs() -> None:
    found = report(part(0, 1, (1, 2, 3), (1,)), part(1, 1, (1,), (1,)), min_in_sync={"t": 2})
    assert found.health is Health.IMPAIRED
    [finding] = found.findings()
    assert "acks=all is refused: t[0]." in finding.what


def test_a_lost_leader_impairs() -> None:
    found = report(part(0, None, (3,), (3,)), part(1, None, (3,), (3,)), fenced=(3,))
    assert found.health is Health.IMPAIRED
    assert "2 partitions without a leader: t[0-1]." in found.findings()[1].what
    assert "--unclean" in (found.findings()[1].attempt or "")


def test_a_replica_that_is_there_and_may_not_lead_is_named_with_its_broker() -> None:
    """Its log is damaged: to start its broker would not help."""
    lost = replace(part(0, None, (1, 2), ()), offline=(1,))
    gone = replace(part(1, None, (3,), (3,)), offline=(3,))
    found = report(lost, gone, fenced=(3,))
    damaged, away = found.findings()[1:]
    assert damaged.what == "1 partition without a leader, with a damaged replica: t[0]."
    assert "the log of broker 1;" in (damaged.attempt or "")
    assert away.what == "1 partition without a leader: t[1]."


def test_no_quorum_impairs() -> None:
    assert report(quorum=None).health is Health.IMPAIRED


def test_what_moves_is_not_sick() -> None:
    moving = part(0, 1, (2, 1), (1,))
    found = report(moving, reassigning=[moving.place])
    assert found.health is Health.HEALTHY
    assert found.away_from_preferred == []


def test_other_leaders_are_counted() -> None:
    away = part(0, 2, (1, 2), (1, 2))
    found = report(away, part(1, 1, (1, 2), (1, 2)))
    assert found.away_from_preferred == found.electable == [away]


def test_a_preferred_leader_that_is_away_cannot_be_elected() -> None:
    found = report(part(0, 2, (3, 2), (2,)), fenced=(3,))
    assert (len(found.away_from_preferred), found.electable) == (1, [])


def test_many_partitions_are_not_all_named() -> None:
    many = [part(number, None, (1,), ()) for number in range(0, 60, 2)]
    [finding] = report(*many).findings()
    assert "and 10 more" in finding.what
