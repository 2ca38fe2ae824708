import random
from collections import Counter

import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.topics.placement import _ring, place_replicas


def place(image, count, replication_factor, *, seed=0, first=0):
    return place_replicas(
        image.brokers.values(), seed=seed, first=first, count=count, replication_factor=replication_factor
    )


def test_one_broker_takes_it_all(cluster):
    assert place(cluster(1), 3, 1) == [(1,), (1,), (1,)]


def test_leaders_and_replicas_are_even(cluster):
    placed = place(cluster(4), 400, 3)
    assert set(Counter(replicas[0] for replicas in placed).values()) == {100}
    assert set(Counter(broker for replicas in placed for broker in replicas).values()) == {300}


def test_the_partitions_of_a_dead_broker_fall_to_all_others(cluster):
    placed = place(cluster(4), 120, 2)
    heirs = Counter(replicas[1] for replicas in placed if replicas[0] == 1)
    assert heirs == {2: 10, 3: 10, 4: 10}


def test_racks_come_first(cluster):
    racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
    image = cluster(6, racks=racks)
    placed = place(image, 60, 3, seed=5)
    assert all({racks[broker] for broker in replicas} == {"a", "b", "c"} for replicas in placed)
    assert set(Counter(broker for replicas in placed for broker in replicas).values()) == {30}


def test_more_replicas_than_racks_use_each_rack_about_equally(cluster):
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    for replicas in place(cluster(4, racks=racks), 12, 4):
        assert sorted(replicas) == [1, 2, 3, 4]
    for replicas in place(cluster(4, racks=racks), 12, 3):
        assert sorted(Counter(racks[broker] for broker in replicas).values()) == [1, 2]


def test_alive_brokers_are_taken_before_dead_ones(cluster):
    image = cluster(4, fenced=(2,))
    placed = place(image, 30, 3)
    assert all(sorted(replicas) == [1, 3, 4] for replicas in placed)
    assert set(Counter(replicas[0] for replicas in placed).values()) == {10}
    assert all(replicas[-1] == 2 for replicas in place(image, 30, 4))


def test_seed_moves_the_first_leader(cluster):
    assert {place(cluster(3), 1, 1, seed=seed)[0] for seed in range(3)} == {(1,), (2,), (3,)}


def test_too_few_brokers(cluster):
    with pytest.raises(KafkaError, match=r"only 2 broker\(s\) are registered") as caught:
        place(cluster(2), 1, 3)
    assert caught.value.code == ErrorCode.INVALID_REPLICATION_FACTOR


THREE_MACHINES = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}


def test_replicas_never_share_a_machine_and_leaders_are_even_over_its_brokers(cluster):
    placed = place(cluster(6, machines=THREE_MACHINES), 120, 3)
    assert all(len({THREE_MACHINES[broker] for broker in replicas}) == 3 for replicas in placed)
    assert set(Counter(replicas[0] for replicas in placed).values()) == {20}
    assert set(Counter(broker for replicas in placed for broker in replicas).values()) == {60}


def test_one_machine_spreads_leaders_and_takes_one_replica(cluster):
    image = cluster(4, machines=dict.fromkeys(range(1, 5), "a"))
    assert Counter(place(image, 8, 1)) == {(1,): 2, (2,): 2, (3,): 2, (4,): 2}
    with pytest.raises(KafkaError, match=r"4 registered broker\(s\) run on only 1 machine\(s\)") as caught:
        place(image, 1, 2)
    assert caught.value.code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_second_replica_waits_for_a_dead_machine_rather_than_share_one(cluster):
    image = cluster(4, machines={1: "a", 2: "a", 3: "b", 4: "b"}, fenced=(3, 4))
    assert all(set(replicas) & {3, 4} and replicas[0] in (1, 2) for replicas in place(image, 12, 2))


def test_brokers_without_a_machine_are_each_on_their_own(cluster):
    machines = {1: "a", 2: "a"}
    for replicas in place(cluster(4, machines=machines), 24, 3):
        assert len({1, 2}.intersection(replicas)) == 1


def obvious_replicas(ring, leader, shift, replication_factor):
    """The best of all others for each replica: what placement finds without looking at all of them."""
    place = ring.index(leader)
    others = [*ring[place + 1 :], *ring[:place]]
    others = [*others[shift:], *others[:shift]]
    chosen, used = [leader], Counter([leader.rack])
    while len(chosen) < replication_factor:
        others = [broker for broker in others if broker.machine_key != chosen[-1].machine_key]
        best = min(others, key=lambda broker: (used[broker.rack], not broker.is_active))
        chosen.append(best)
        used[best.rack] += 1
    return tuple(broker.id for broker in chosen)


def test_random_clusters_get_what_the_obvious_search_finds(cluster):
    draw, placed = random.Random(7), 0
    for _ in range(150):
        ids = range(1, draw.randint(2, 10))
        image = cluster(
            len(ids),
            racks={id: rack for id in ids if (rack := draw.choice((None, "a", "b", "c")))},
            machines={id: machine for id in ids if (machine := draw.choice((None, "m", "n", "o")))},
            fenced=tuple(id for id in ids if draw.random() < 0.25),
        )
        ring, seed, replicas = _ring(image.brokers.values()), draw.randrange(1000), draw.randint(1, 4)
        leaders = [broker for broker in ring if broker.is_active]
        try:
            found = place(image, 20, replicas, seed=seed)
        except KafkaError:
            continue
        turns = [divmod(seed + number, len(leaders)) for number in range(20)]
        shifts = [turn % max(1, len(ring) - 1) for turn, _ in turns]
        assert found == [
            obvious_replicas(ring, leaders[start], shift, replicas)
            for (_, start), shift in zip(turns, shifts, strict=True)
        ]
        placed += 1
    assert placed > 50
