"""Replicas of one machine on its cores."""

from collections import Counter

import pytest

from tidelog.metadata.leaders.layout import PlacedPartition
from tidelog.metadata.leaders.spread import plan_spread


def placed(*lists, topic="t"):
    return [PlacedPartition(topic, index, replicas) for index, replicas in enumerate(lists)]


def carried_out(before, moves):
    after = {(move.topic, move.partition): move.after for move in moves}
    return [after.get((one.topic, one.partition), one.replicas) for one in before]


def test_new_cores_take_leaders_and_followers_in_their_places():
    before = placed(*[(1, 2)] * 8, *[(2, 1)] * 8)
    lists = carried_out(before, plan_spread([1, 1001], before))
    assert Counter(replicas[0] for replicas in lists[:8]) == {1: 4, 1001: 4}
    assert all(replicas[1] == 2 for replicas in lists[:8])
    assert Counter(replicas[1] for replicas in lists[8:]) == {1: 4, 1001: 4}


def test_every_topic_is_spread():
    before = [*placed(*[(1,)] * 4, topic="a"), *placed(*[(1,)] * 4, topic="b")]
    moves = plan_spread([1, 1001], before)
    assert Counter(move.topic for move in moves) == {"a": 2, "b": 2}


def test_what_is_even_stays_and_other_machines_are_left_alone():
    before = placed((1, 2), (1001, 2), (2, 3), (2, 3), (2, 3))
    assert plan_spread([1, 1001], before) == []


@pytest.mark.parametrize("cores", [2, 3, 8])
def test_leaving_cores_are_empty(cores):
    ids = [1 + 1000 * core for core in range(cores)]
    before = placed(*[(ids[number % cores],) for number in range(24)])
    lists = carried_out(before, plan_spread(ids, before, leaving=ids[1:]))
    assert lists == [(1,)] * 24
    lists = carried_out(before, plan_spread(ids, before, leaving=ids[-1:]))
    counts = Counter(replicas[0] for replicas in lists)
    assert ids[-1] not in counts
    assert max(counts.values()) - min(counts.values()) <= 1
