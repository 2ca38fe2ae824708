"""Queues as values: what is known is added up, what is not stays unknown, and rates come from two looks."""

import pytest

from tidelog.cli.queue.rates import Rates, rates
from tidelog.cli.queue.standing import (
    Member,
    Queue,
    QueuePartition,
    deliveries,
    merged,
    stored_partition,
    summary,
)
from tidelog.cli.queue.tables import deliveries_text, queue_json, show_queue, show_queues
from tidelog.clients.records import TopicPartition

NOW_MS = 1_000_000
A, B = TopicPartition("jobs", 0), TopicPartition("jobs", 1)
MEMBER = Member("m1", "worker", "10.0.0.1", (A, B))


def part(place: TopicPartition = A, **changes: object) -> QueuePartition:
    told: dict[str, object] = {
        "start_offset": 10,
        "end_offset": 100,
        "depth": 80,
        "in_flight": 5,
        "scheduled": 7,
        "delayed": 2,
        "dying": 1,
        "oldest_ms": NOW_MS - 60_000,
        "deliveries": ((0, 70), (1, 10)),
    }
    return QueuePartition(place, **(told | changes))  # type: ignore[arg-type]


def stored(place: TopicPartition, depth: int | None = None) -> QueuePartition:
    return stored_partition(place, 3, depth)


def queue(*parts: QueuePartition) -> Queue:
    return Queue("workers", "Stable", 1, (MEMBER,), parts)


def test_a_queue_adds_up_its_partitions() -> None:
    row = summary(queue(part(), part(B, depth=20, oldest_ms=None)), NOW_MS)
    assert (row["depth"], row["in_flight"], row["scheduled"], row["dying"]) == (100, 10, 14, 2)
    assert (row["oldest_age_ms"], row["topics"], row["members"]) == (60_000, ["jobs"], 1)
    assert part().available == 65


def test_what_no_broker_says_is_not_zero() -> None:
    row = summary(queue(stored(A), stored(B)), NOW_MS)
    assert (row["depth"], row["in_flight"], row["oldest_age_ms"]) == (None, None, None)
    assert summary(queue(stored(A, 4), part(B)), NOW_MS)["depth"] == 84
    assert stored(A, 4).available is None
    assert part(scheduled=None).available is None
    assert summary(queue(stored(A, 0)), NOW_MS)["in_flight"] == 0, "all is done"
    empty = summary(queue(), NOW_MS)
    assert (empty["depth"], empty["in_flight"]) == (0, 0)


def test_leaders_know_more_than_the_coordinator() -> None:
    found = merged([stored(B, 4), stored(A, 9)], [part(A)])
    assert [each.place for each in found] == [A, B]
    assert [each.depth for each in found] == [80, 4]


def test_a_group_without_members_may_have_been_moved_since() -> None:
    [moved] = merged([stored(A, 9)], [part(A, start_offset=10)], is_empty=True)
    assert (moved.start_offset, moved.depth) == (3, 9)
    [same] = merged([stored(A, 9)], [part(A, start_offset=3)], is_empty=True)
    assert (same.depth, same.delayed) == (80, 2)


def test_a_leader_that_refuses_leaves_what_is_stored() -> None:
    [found] = merged([stored(A, 9)], [QueuePartition(A, error="not loaded")])
    assert (found.depth, found.error) == (9, "not loaded")


def test_delivery_counts_of_all_partitions() -> None:
    counted = deliveries([part(), part(B, deliveries=((1, 5), (3, 2)))])
    assert counted == {0: 70, 1: 15, 3: 2}
    assert deliveries_text(counted) == "none yet: 70, once: 15, 3 times: 2"


def test_rates_of_two_looks() -> None:
    before = queue(part(depth=80), part(B, depth=10))
    after = queue(part(depth=70, end_offset=120), part(B, depth=5))
    measured = rates(before, after, 2.0)
    assert measured == Rates(incoming=10.0, done=17.5)
    assert measured.empty_in_ms(75) == 10_000
    assert measured.empty_in_ms(0) is None
    assert Rates(incoming=5, done=5).empty_in_ms(75) is None


def test_a_partition_that_was_seen_once_has_no_rate() -> None:
    assert rates(queue(), queue(part()), 1.0) == Rates()
    assert rates(queue(stored(A)), queue(part()), 1.0) == Rates()
    assert rates(queue(part()), queue(part()), 0.0) == Rates()


def test_a_log_that_was_truncated_gives_no_negative_rate() -> None:
    assert rates(queue(part()), queue(part(end_offset=50, depth=40)), 1.0) == Rates(0.0, 0.0)


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    show_queues([queue(part())], NOW_MS)
    assert ["workers", "Stable", "1", "jobs", "80", "5", "1", "min"] in [
        line.split() for line in capsys.readouterr().out.splitlines()
    ]
    settings = {"share.record.lock.duration.ms": "30000", "errors.deadletterqueue.topic.name": ""}
    problem = part(problem="the topic is full")
    show_queue(queue(problem, stored(B, 4)), settings, NOW_MS)
    shown = capsys.readouterr().out
    assert shown.startswith("workers  Stable, 1 member, depth 84, in flight 5, oldest 1 min, coordinator 1")
    assert "30000 (30 s)" in shown
    assert "records that the group gives up on are dropped" in shown
    assert "jobs[0]: dead letters wait: the topic is full" in shown
    found = queue_json(queue(problem), settings, NOW_MS)
    assert found["partitions"][0]["dead_letter_problem"] == "the topic is full"
    assert found["delivery_counts"] == {"0": 70, "1": 10}


def test_columns_that_no_partition_fills_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    show_queue(queue(stored(A, 4)), {}, NOW_MS)
    shown = capsys.readouterr().out
    assert "Scheduled" not in shown
    assert ["jobs", "0", "3", "-", "4", "-"] in [line.split() for line in shown.splitlines()]
