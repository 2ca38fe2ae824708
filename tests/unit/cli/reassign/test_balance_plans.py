"""The planners of the metadata room as the commands use them."""

import pytest

from tidelog.cli.cluster.view import Broker
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.reassign.balance_plans import drained, evened
from tidelog.clients.records import TopicPartition

BROKERS = [Broker(id, "h", 9090 + id) for id in (1, 2, 3)]
CURRENT = {TopicPartition("t", number): (1, 2) for number in range(6)}


def test_even_means_the_same_for_all() -> None:
    plan = evened(CURRENT, BROKERS)
    assert plan.keys() == CURRENT.keys()
    held = [id for replicas in plan.values() for id in replicas]
    assert [held.count(id) for id in (1, 2, 3)] == [4, 4, 4]
    leaders = [replicas[0] for replicas in plan.values()]
    assert [leaders.count(id) for id in (1, 2, 3)] == [2, 2, 2]


def test_what_is_even_stays() -> None:
    plan = evened(CURRENT, BROKERS)
    assert evened(plan, BROKERS) == plan


def test_a_drained_broker_holds_nothing_and_the_dead_take_nothing() -> None:
    dead = Broker(4, "h", 1, fenced=True)
    plan = drained(CURRENT, [*BROKERS, dead], [1])
    assert {id for replicas in plan.values() for id in replicas} == {2, 3}


def test_too_few_brokers_are_refused() -> None:
    with pytest.raises(CliError, match="There is no plan") as caught:
        drained(CURRENT, BROKERS[:2], [1])
    assert caught.value.code is Exit.REFUSED
