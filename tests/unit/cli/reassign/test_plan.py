"""Plans: what may stay stays, what must go goes to the emptiest broker of another rack."""

import pytest

from tidelog.cli.cluster.view import Broker, ClusterView
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.reassign.plan import Move, allowed_brokers, fitted, moves_between
from tidelog.clients.records import TopicPartition


def brokers(*ids: int, racks: str = "") -> list[Broker]:
    return [Broker(id, f"host-{id}", 9092, racks[place] if racks else None) for place, id in enumerate(ids)]


def at(partition: int) -> TopicPartition:
    return TopicPartition("t", partition)


def test_what_may_stay_stays() -> None:
    current = {at(0): (1, 2), at(1): (2, 1)}
    assert fitted(current, brokers(1, 2, 3), None, {}) == current


def test_a_broker_that_is_left_out_is_replaced_by_the_emptiest() -> None:
    current = {at(0): (1, 2), at(1): (2, 3), at(2): (3, 2)}
    plan = fitted(current, brokers(2, 3, 4), None, {})
    assert plan == {at(0): (4, 2), at(1): (2, 3), at(2): (3, 2)}


def test_the_preferred_leader_stays_in_front_when_it_stays() -> None:
    assert fitted({at(0): (1, 2, 3)}, brokers(1, 3, 4), None, {}) == {at(0): (1, 3, 4)}


def test_new_preferred_leaders_are_shared_out() -> None:
    current = {at(number): (9,) for number in range(6)}
    plan = fitted(current, brokers(1, 2, 3), 2, {})
    leaders = [replicas[0] for replicas in plan.values()]
    assert sorted(leaders) == [1, 1, 2, 2, 3, 3]


def test_more_replicas_go_to_racks_that_have_none() -> None:
    plan = fitted({at(0): (1,), at(1): (2,)}, brokers(1, 2, 3, 4, racks="aabb"), 2, {})
    racks = dict(zip((1, 2, 3, 4), "aabb", strict=True))
    assert all({racks[id] for id in replicas} == {"a", "b"} for replicas in plan.values())


def test_fewer_replicas_keep_those_that_have_all_records() -> None:
    assert fitted({at(0): (1, 2, 3)}, brokers(1, 2, 3), 2, {at(0): (1, 3)}) == {at(0): (1, 3)}
    assert fitted({at(0): (1, 2, 3)}, brokers(1, 2, 3), 1, {at(0): (3,)}) == {at(0): (3,)}


def test_more_replicas_than_brokers_are_refused() -> None:
    with pytest.raises(CliError, match="cannot have 3 replicas on 2 brokers") as caught:
        fitted({at(0): (1,)}, brokers(1, 2), 3, {})
    assert caught.value.code is Exit.REFUSED


def test_moves_are_what_differs() -> None:
    before = {at(0): (1, 2), at(1): (1, 2), at(2): (1, 2)}
    after = {at(0): (1, 2), at(1): (2, 1), at(2): (3, 2)}
    moves = moves_between(before, after)
    assert moves == [Move(at(1), (1, 2), (2, 1)), Move(at(2), (1, 2), (3, 2))]
    assert [move.adding for move in moves] == [(), (3,)]
    assert [move.removing for move in moves] == [(), (1,)]


def test_only_brokers_that_live_may_take_replicas() -> None:
    known = {broker.id: broker for broker in brokers(1, 2)} | {3: Broker(3, "h", 1, fenced=True)}
    view = ClusterView("c", 1, known, {})
    assert [broker.id for broker in allowed_brokers(view, [2, 2, 1])] == [2, 1]
    with pytest.raises(CliError, match="not alive"):
        allowed_brokers(view, [1, 3])
    with pytest.raises(CliError, match="no broker 4 in this cluster; it has 1, 2 and 3") as caught:
        allowed_brokers(view, [4])
    assert caught.value.code is Exit.NOT_FOUND


def test_a_machine_holds_one_replica_of_a_partition() -> None:
    cores = [Broker(id, "h", id, machine=machine) for id, machine in ((1, "a"), (2, "a"), (3, "b"), (4, "b"))]
    plan = fitted({at(0): (1,), at(1): (3,)}, cores, 2, {})
    assert all(len({id > 2 for id in replicas}) == 2 for replicas in plan.values())
    with pytest.raises(CliError, match="cannot have 3 replicas on 2 machines with the brokers 1, 2, 3 and 4"):
        fitted({at(0): (1,)}, cores, 3, {})
