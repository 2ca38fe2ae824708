from collections import Counter

import pytest

from tidelog.metadata.leaders.balance import Move, PlanError, plan_drain, plan_rebalance
from tidelog.metadata.leaders.layout import PlacedPartition, UsableBroker


def usable_brokers(*ids, racks=""):
    return [UsableBroker(id, racks[place] if racks else None) for place, id in enumerate(ids)]


def placed(*lists, topic="t"):
    return [PlacedPartition(topic, index, replicas) for index, replicas in enumerate(lists)]


def test_new_broker_gets_its_share_and_nothing_else_moves():
    before = placed(*[(1, 2), (2, 1)] * 6)
    moves = plan_rebalance(usable_brokers(1, 2, 3), before)
    assert sum(move.copied for move in moves) == 8
    after = {move.partition: move.after for move in moves}
    lists = [after.get(one.partition, one.replicas) for one in before]
    assert Counter(broker for replicas in lists for broker in replicas) == {1: 8, 2: 8, 3: 8}
    assert Counter(replicas[0] for replicas in lists) == {1: 4, 2: 4, 3: 4}


def test_leaders_are_evened_out_without_copying():
    moves = plan_rebalance(usable_brokers(1, 2), placed((1, 2), (1, 2), (1, 2), (1, 2)))
    assert [move.copied for move in moves] == [0, 0]
    assert moves[0] == Move("t", 0, (1, 2), (2, 1))


def test_what_is_even_stays():
    assert plan_rebalance(usable_brokers(1, 2, 3), placed((1, 2), (2, 3), (3, 1))) == []
    assert plan_rebalance(usable_brokers(1, 2), []) == []


def test_a_new_topic_is_not_all_on_the_new_broker():
    before = placed(*[(1, 2)] * 4, topic="a") + placed(*[(1, 2)] * 4, topic="b")
    moves = plan_rebalance(usable_brokers(1, 2, 3), before)
    assert Counter(move.topic for move in moves if 3 in move.after) in ({"a": 3, "b": 2}, {"a": 2, "b": 3})


def test_racks_come_before_even_loads():
    """One rack has a single broker: it keeps a replica of everything."""
    before = placed(*[(1, 2), (1, 3), (2, 1), (3, 1)])
    assert all(
        {1}.issubset(move.after) for move in plan_rebalance(usable_brokers(1, 2, 3, 4, racks="abbb"), before)
    )


def test_crowded_rack_is_relaxed():
    moves = plan_rebalance(usable_brokers(1, 2, 3, racks="aab"), placed((1, 2)))
    assert len(moves) == 1
    assert 3 in moves[0].after


def test_replica_on_a_broker_that_is_gone_finds_a_target():
    assert plan_rebalance(usable_brokers(1, 2), placed((9, 1))) == [Move("t", 0, (9, 1), (2, 1))]


def test_drain_takes_the_role_over_and_keeps_the_rest():
    before = placed((1, 2), (2, 3), (3, 1), (2, 3))
    moves = plan_drain(usable_brokers(1, 2, 3), before, [1])
    assert [(move.partition, set(move.after)) for move in moves] == [(0, {2, 3}), (2, {2, 3})]
    leaders = Counter([move.after[0] for move in moves] + [2, 2])
    assert leaders == {2: 2, 3: 2}


def test_drain_prefers_another_rack():
    [move] = plan_drain(usable_brokers(1, 2, 3, 4, racks="abba"), placed((1, 2)), [1])
    assert move.after == (4, 2)


def test_too_few_brokers_are_said_so():
    with pytest.raises(PlanError, match="t-0 has 2 replicas, and only 1 broker would be left"):
        plan_drain(usable_brokers(1, 2), placed((1, 2)), [2])
    with pytest.raises(PlanError, match="add a broker first"):
        plan_rebalance(usable_brokers(1), placed((1, 2)))
    assert plan_drain(usable_brokers(1, 2, 3), placed((1, 2)), [3]) == []


def test_plan_is_the_same_whatever_the_order_of_its_input():
    before = placed(*[(1, 2, 3)] * 7, topic="a") + placed(*[(2, 3, 4)] * 5, topic="b")
    brokers = usable_brokers(1, 2, 3, 4, 5)
    assert plan_rebalance(brokers, before) == plan_rebalance(brokers[::-1], before[::-1])


def test_new_cores_of_a_machine_get_their_share():
    cores = [UsableBroker(id, None, "ab"[id % 2]) for id in (0, 1, 2, 3)]
    before = placed(*[(0, 1), (1, 0)] * 6)
    moves = plan_rebalance(cores, before)
    after = {move.partition: move.after for move in moves}
    lists = [after.get(one.partition, one.replicas) for one in before]
    assert all(first % 2 != second % 2 for first, second in lists)
    assert Counter(broker for replicas in lists for broker in replicas) == {0: 6, 1: 6, 2: 6, 3: 6}
    assert Counter(replicas[0] for replicas in lists) == {0: 3, 1: 3, 2: 3, 3: 3}


def test_replicas_that_share_a_machine_are_parted():
    brokers = [UsableBroker(1, None, "a"), UsableBroker(2, None, "a"), UsableBroker(3)]
    [move] = plan_rebalance(brokers, placed((1, 2)))
    assert 3 in move.after


def test_a_drain_that_would_leave_too_few_machines_is_refused():
    brokers = [UsableBroker(1, None, "a"), UsableBroker(2, None, "a"), UsableBroker(3)]
    with pytest.raises(PlanError, match="only 1 machine would be left to hold them; add a machine first"):
        plan_drain(brokers, placed((1, 3)), [3])


def test_a_core_drains_to_another_of_its_machine():
    brokers = [UsableBroker(1, None, "a"), UsableBroker(2, None, "a"), UsableBroker(3)]
    [move] = plan_drain(brokers, placed((1, 3)), [1])
    assert sorted(move.after) == [2, 3]
