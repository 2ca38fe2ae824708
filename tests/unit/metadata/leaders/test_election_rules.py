import pytest

from tidelog.base.config.config import BrokerConfig
from tidelog.metadata.image.entities import NO_LEADER
from tidelog.metadata.image.records import BrokerChanged
from tidelog.metadata.leaders.election_rules import Candidates, Election, ElectionRules


@pytest.mark.parametrize(
    ("isr", "fenced", "election", "leader"),
    [
        ((1, 2, 3), (), Election.CLEAN, 1),
        ((1, 2, 3), (1,), Election.CLEAN, 2),
        ((3, 2), (1,), Election.CLEAN, 2),  # in the order of replicas
        ((1,), (1,), Election.CLEAN, NO_LEADER),
        ((1,), (1,), Election.UNCLEAN, 2),
        ((1, 3), (1,), Election.UNCLEAN, 3),  # clean where it can be
        ((1,), (1, 2, 3), Election.UNCLEAN, NO_LEADER),
        ((2, 3), (1,), Election.PREFERRED, 2),
    ],
)
def test_leader_comes_from_the_in_sync_set(with_topic, isr, fenced, election, leader):
    image = with_topic((1, 2, 3), isr=isr, fenced=fenced)
    partition = image.partition("t", 0)
    assert (
        ElectionRules(image.brokers).elect(partition, Candidates(partition.replicas, isr), election) == leader
    )


def test_a_leader_that_may_lead_stays_unless_the_preferred_one_is_asked_for(with_topic):
    image = with_topic((1, 2, 3), isr=(2, 3))
    partition = image.partition("t", 0)
    rules = ElectionRules(image.brokers)
    assert partition.leader == 2
    assert rules.elect(partition, Candidates((1, 2, 3), (1, 2, 3))) == 2
    assert rules.elect(partition, Candidates((1, 2, 3), (1, 2, 3)), Election.PREFERRED) == 1


def test_a_stopping_leader_goes_on_only_while_nobody_else_may(with_topic):
    image = with_topic((1, 2)).apply(BrokerChanged(1, 1, shutting_down=True))
    partition = image.partition("t", 0)
    rules = ElectionRules(image.brokers)
    assert rules.elect(partition, Candidates((1, 2), (1,))) == 1
    assert rules.elect(partition, Candidates((1, 2), (1, 2))) == 2
    gone = ElectionRules(image.apply(BrokerChanged(1, 1, fenced=True)).brokers)
    assert gone.elect(partition, Candidates((1, 2), (1,))) == NO_LEADER


def test_replica_in_a_failed_directory_does_not_lead(with_topic):
    image = with_topic((1, 2)).apply(BrokerChanged(1, 1, directories=("AAAAAAAAAAAAAAAAAAAACQ",)))
    partition = image.partition("t", 0)
    assert ElectionRules(image.brokers).elect(partition, Candidates((1, 2), (1, 2))) == 2


@pytest.mark.parametrize(
    ("topic_says", "broker_says", "election"),
    [
        (False, False, Election.CLEAN),
        (True, False, Election.UNCLEAN),
        (False, True, Election.UNCLEAN),
    ],
)
def test_topic_or_what_it_inherits_asks_for_unclean_elections(with_topic, topic_says, broker_says, election):
    image = with_topic((1,), unclean=topic_says)
    config = BrokerConfig({"unclean.leader.election.enable": broker_says})
    assert ElectionRules(image.brokers, config).election_for(image.topic("t")) is election
