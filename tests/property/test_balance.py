"""Plans for a cluster: every one is legal, even, sparing, and at rest once it is carried out."""

from collections import Counter
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.metadata.leaders.balance import plan_drain, plan_rebalance
from tidelog.metadata.leaders.layout import Layout, PlacedPartition, UsableBroker

NO_RACKS = st.none()


@st.composite
def clusters(draw, racks=NO_RACKS, brokers_max=6, partitions_max=24):
    ids = draw(st.lists(st.integers(0, 20), min_size=1, max_size=brokers_max, unique=True))
    usable_brokers = [UsableBroker(id, draw(racks)) for id in ids]
    partitions = [
        PlacedPartition(
            f"t{number % 3}",
            number,
            tuple(draw(st.lists(st.sampled_from(ids), min_size=1, max_size=3, unique=True))),
        )
        for number in range(draw(st.integers(0, partitions_max)))
    ]
    return usable_brokers, partitions


def carried_out(partitions, moves):
    after = {(move.topic, move.partition): move.after for move in moves}
    return [
        PlacedPartition(p.topic, p.partition, after.get((p.topic, p.partition), p.replicas))
        for p in partitions
    ]


def loads(usable_brokers, partitions):
    held = Counter(broker for placed in partitions for broker in placed.replicas)
    return [held[usable.broker_id] for usable in usable_brokers]


def leads(usable_brokers, partitions):
    held = Counter(placed.replicas[0] for placed in partitions)
    return sorted(held[usable.broker_id] for usable in usable_brokers)


def check_legal(partitions, moves):
    assert {(m.topic, m.partition): m.before for m in moves}.items() <= {
        (p.topic, p.partition): p.replicas for p in partitions
    }.items()
    for move in moves:
        assert move.after != move.before
        assert len(set(move.after)) == len(move.after) == len(move.before)


def most_even(usable_brokers, partitions):
    """By trying every choice of leaders."""
    choices = product(*(placed.replicas for placed in partitions))
    best = min(sum(n * n for n in Counter(chosen).values()) for chosen in choices)
    return best


@settings(max_examples=80)
@given(clusters())
def test_replicas_become_even_with_few_copies(cluster):
    usable_brokers, partitions = cluster
    moves = plan_rebalance(usable_brokers, partitions)
    check_legal(partitions, moves)
    after = carried_out(partitions, moves)
    load = loads(usable_brokers, after)
    assert max(load) - min(load) <= 1
    assert plan_rebalance(usable_brokers, after) == []
    if max(loads(usable_brokers, partitions)) - min(loads(usable_brokers, partitions)) <= 1:
        assert not any(move.copied for move in moves)


@settings(max_examples=40)
@given(clusters(brokers_max=4, partitions_max=6))
def test_leaders_are_as_even_as_the_replicas_allow(cluster):
    usable_brokers, partitions = cluster
    after = carried_out(partitions, plan_rebalance(usable_brokers, partitions))
    assert sum(n * n for n in leads(usable_brokers, after)) == most_even(usable_brokers, after)


@settings(max_examples=80)
@given(clusters(racks=st.sampled_from(["a", "b", "c"])))
def test_racks_are_never_used_worse(cluster):
    usable_brokers, partitions = cluster
    moves = plan_rebalance(usable_brokers, partitions)
    check_legal(partitions, moves)
    after = carried_out(partitions, moves)
    layout = Layout(usable_brokers, after)
    racks = {usable.rack for usable in usable_brokers}
    for before, placed in zip(partitions, after, strict=True):
        assert layout.crowding(placed.replicas) <= layout.crowding(before.replicas)
        used = Counter(layout.racks[broker] for broker in placed.replicas)
        for rack in racks - used.keys():  # a rack stays free only when nobody is crowded for it
            assert max(used.values()) == 1, (rack, placed)
    assert plan_rebalance(usable_brokers, after) == []


@settings(max_examples=80)
@given(clusters(racks=st.sampled_from([None, "a", "b"])), st.data())
def test_drained_brokers_are_empty_and_no_other_partition_is_touched(cluster, data):
    usable_brokers, partitions = cluster
    ids = [usable.broker_id for usable in usable_brokers]
    leaving = data.draw(st.sets(st.sampled_from(ids), min_size=1, max_size=2))
    partitions = [p for p in partitions if len(p.replicas) <= len(ids) - len(leaving)]
    moves = plan_drain(usable_brokers, partitions, leaving)
    check_legal(partitions, moves)
    after = carried_out(partitions, moves)
    assert all(leaving.isdisjoint(placed.replicas) for placed in after)
    touched = {(move.topic, move.partition) for move in moves}
    assert touched == {(p.topic, p.partition) for p in partitions if leaving & set(p.replicas)}
    assert all(move.copied == len(leaving.intersection(move.before)) for move in moves)
    assert plan_drain(usable_brokers, after, leaving) == []


@st.composite
def machines_of_cores(draw):
    """Some machines with one to four cores each, some of them down, and replicas that share no machine."""
    brokers = [
        UsableBroker(machine + 100 * core, None, f"m{machine}")
        for machine in range(draw(st.integers(1, 5)))
        for core in range(draw(st.integers(1, 4)))
    ]
    by_machine = {}
    for broker in brokers:
        by_machine.setdefault(broker.machine, []).append(broker.broker_id)
    partitions = []
    for number in range(draw(st.integers(0, 20))):
        used = draw(st.lists(st.sampled_from(sorted(by_machine)), min_size=1, max_size=3, unique=True))
        replicas = tuple(draw(st.sampled_from(by_machine[machine])) for machine in used)
        partitions.append(PlacedPartition(f"t{number % 3}", number, replicas))
    return brokers, partitions


@settings(max_examples=80)
@given(machines_of_cores())
def test_a_rebalance_shares_no_machine_and_comes_to_rest(cluster):
    brokers, partitions = cluster
    machine = {broker.broker_id: broker.machine for broker in brokers}
    after = carried_out(partitions, plan_rebalance(brokers, partitions))
    for placed in after:
        assert len({machine[broker] for broker in placed.replicas}) == len(placed.replicas)
    assert plan_rebalance(brokers, after) == []


@settings(max_examples=80)
@given(machines_of_cores(), st.data())
def test_a_drain_beside_brokers_that_are_down_shares_no_machine(cluster, data):
    brokers, partitions = cluster
    machine = {broker.broker_id: broker.machine for broker in brokers}
    leaving = data.draw(st.sets(st.sampled_from(sorted(machine)), min_size=1, max_size=2))
    down = data.draw(st.sets(st.sampled_from(sorted(machine)), max_size=1)) - leaving
    takers = [broker for broker in brokers if broker.broker_id not in down | leaving]
    others = [broker for broker in brokers if broker not in takers]
    left = len({broker.machine for broker in takers})
    partitions = [placed for placed in partitions if len(placed.replicas) <= left]
    after = carried_out(partitions, plan_drain(takers, partitions, leaving, others))
    for placed in after:
        assert leaving.isdisjoint(placed.replicas)
        assert len({machine[broker] for broker in placed.replicas}) == len(placed.replicas)
