import pytest

from tidelog.base.errors import ErrorCode
from tidelog.metadata.image.records import BrokerChanged, PartitionChanged
from tidelog.metadata.leaders.elections import (
    ElectionKind,
    decide_elect_leaders,
    decide_missing_leaders,
    decide_preferred_leaders,
)

ID = "AAAAAAAAAAAAAAAAAAAAAQ"
PREFERRED, UNCLEAN = ElectionKind.PREFERRED, ElectionKind.UNCLEAN


def strayed(with_topic, *partitions):
    """All partitions are led by their second replica."""
    image = with_topic(*partitions)
    for index, replicas in enumerate(partitions):
        image = image.apply(PartitionChanged(ID, index, 8, leader=replicas[1], leader_epoch=6))
    return image


@pytest.mark.parametrize(
    ("kind", "wanted", "error"),
    [
        (PREFERRED, ("t", 0), ErrorCode.NONE),
        (PREFERRED, ("t", 9), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (PREFERRED, ("no", 0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (UNCLEAN, ("t", 0), ErrorCode.ELECTION_NOT_NEEDED),
    ],
)
def test_each_partition_is_answered(with_topic, kind, wanted, error):
    decision = decide_elect_leaders(strayed(with_topic, (1, 2)), kind, [wanted])
    assert [result.error for result in decision.results] == [error]
    assert len(decision.records) == (error == ErrorCode.NONE)


def test_partition_named_twice_is_elected_once(with_topic, apply):
    image = strayed(with_topic, (1, 2))
    decision = decide_elect_leaders(image, PREFERRED, [("t", 0), ("t", 0)])
    assert [result.ok for result in decision.results] == [True, True]
    assert apply(image, decision).partition("t", 0).leader == 1


def test_preferred_leader_that_may_not_lead(with_topic):
    image = strayed(with_topic, (1, 2)).apply(BrokerChanged(1, 1, shutting_down=True))
    [result] = decide_elect_leaders(image, PREFERRED, [("t", 0)]).results
    assert result.error == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


def test_asking_for_all_answers_only_what_needed_an_election(with_topic, apply):
    image = with_topic((1, 2), (2, 1)).apply(PartitionChanged(ID, 1, 8, leader=1, leader_epoch=6))
    decision = decide_elect_leaders(image, PREFERRED, None)
    assert [(result.partition, result.ok) for result in decision.results] == [(1, True)]
    assert [p.leader for p in apply(image, decision).topic("t").partitions] == [1, 2]


def test_unclean_election_by_name(with_topic, apply):
    image = with_topic((1, 2), isr=(1,), fenced=(1,))
    decision = decide_elect_leaders(image, UNCLEAN, [("t", 0)])
    partition = apply(image, decision).partition("t", 0)
    assert (partition.leader, partition.isr, partition.leader_epoch) == (2, (2,), 6)
    nobody = with_topic((1, 2), isr=(1,), fenced=(1, 2))
    [result] = decide_elect_leaders(nobody, UNCLEAN, [("t", 0)]).results
    assert result.error == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


@pytest.mark.parametrize(("percent", "elected"), [(0, 2), (49, 2), (50, 0)])
def test_leaders_go_back_when_too_many_strayed(with_topic, percent, elected):
    image = with_topic((1, 2), (1, 2), (1, 2), (1, 3))
    for index in (0, 1):
        image = image.apply(PartitionChanged(ID, index, 8, leader=2, leader_epoch=6))
    assert len(decide_preferred_leaders(image, percent).records) == elected


def test_a_round_of_elections_is_bounded(with_topic):
    image = strayed(with_topic, *[(1, 2)] * 5)
    assert len(decide_preferred_leaders(image, 0, limit=3).records) == 3


def test_missing_leaders_are_found_once_the_topic_asks(with_topic, apply):
    assert not decide_missing_leaders(with_topic((1, 2), isr=(1,), fenced=(1,))).records
    image = with_topic((1, 2), (2, 1), isr=(1,), fenced=(1,), unclean=True)
    image = apply(image, decide_missing_leaders(image))
    assert [partition.leader for _, partition in image.partitions()] == [2, 2]
    assert not decide_missing_leaders(image).records
