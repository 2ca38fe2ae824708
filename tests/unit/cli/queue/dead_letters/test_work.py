"""A redrive as a whole: what it counts, what limits it, and what happens where a topic refuses records."""

import pytest

from tests.rigs.redrives import DEAD, JOBS, Cluster, Interrupted
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.cluster import Topic
from tidelog.cli.queue.dead_letters.filters import LetterFilter
from tidelog.cli.queue.dead_letters.redriver import Redriver
from tidelog.cli.queue.dead_letters.tally import Tally
from tidelog.cli.queue.dead_letters.targets import Targets
from tidelog.cli.queue.dead_letters.work import Work


def topic(cluster: Cluster, name: str) -> Topic | None:
    log = cluster.topics.get(name)
    return None if log is None else log.topic


def work(
    cluster: Cluster, tally: Tally, wanted: LetterFilter | None = None, count: int | None = None
) -> Work:
    targets = Targets(lambda name: topic(cluster, name), lambda _: 1 << 20, dead_letter_topic=DEAD)
    return Work(targets, wanted or LetterFilter(), tally, count=count)


def caught_up(cluster: Cluster) -> Redriver:
    redriver = cluster.redriver()
    redriver.catch_up()
    return redriver


def test_a_plan_puts_nothing_back() -> None:
    cluster, tally = Cluster(), Tally()
    cluster.bury(4)
    work(cluster, tally, LetterFilter(key=b"k2")).plan(caught_up(cluster))
    assert (tally.total, tally.passed_over, tally.put_back) == (1, 3, 0)
    assert tally.rows() == [{"source_topic": JOBS, "topic": JOBS, "partition": 0, "letters": 1}]
    assert cluster.put_back == []


def test_so_many_at_most() -> None:
    cluster, tally = Cluster(), Tally()
    cluster.bury(4)
    work(cluster, tally, count=3).execute(caught_up(cluster))
    assert (tally.put_back, cluster.put_back) == (3, [b"k0", b"k1", b"k2"])
    work(cluster, again := Tally(), count=3).execute(caught_up(cluster))
    assert (again.put_back, again.as_json()["letters"]) == (1, 1)


def test_letters_whose_topic_is_gone_stay() -> None:
    cluster, tally = Cluster(), Tally()
    cluster.bury(2)
    del cluster.topics[JOBS]
    work(cluster, tally).execute(caught_up(cluster))
    assert tally.staying == {"the topic jobs does not exist": 2}
    assert (tally.put_back, tally.failures) == (0, [])


def interrupted() -> Cluster:
    """After the claim, before the copies."""
    cluster = Cluster()
    cluster.bury(2)
    for requests in range(20):
        cluster.requests_left = requests
        with pytest.raises(Interrupted):
            work(cluster, Tally()).execute(caught_up(cluster))
        cluster.requests_left = None
        if caught_up(cluster).ledger.open_claims:
            return cluster
    raise AssertionError("no claim")


def test_what_another_redrive_began_is_completed_and_counted() -> None:
    cluster, plan, tally = interrupted(), Tally(), Tally()
    work(cluster, plan).plan(caught_up(cluster))
    assert (plan.begun, plan.total) == (2, 0)
    work(cluster, tally, LetterFilter(key=b"other")).execute(caught_up(cluster))
    assert (tally.completed, tally.put_back, cluster.put_back) == (2, 2, [b"k0", b"k1"])


def test_a_topic_that_refuses_is_reported_once_and_its_letters_are_not_lost() -> None:
    cluster, tally = interrupted(), Tally()
    cluster.bury(3)
    jobs = cluster.topics[JOBS]
    append = jobs.append

    def refuse(_: bytearray) -> int:
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    jobs.append = refuse  # type: ignore[method-assign]
    work(cluster, tally).execute(caught_up(cluster))
    assert len(tally.failures) == 1
    assert "jobs[0]" in tally.failures[0]
    jobs.append = append  # type: ignore[method-assign]
    work(cluster, again := Tally()).execute(caught_up(cluster))
    assert (again.completed, len(cluster.put_back)) == (5, 5)
