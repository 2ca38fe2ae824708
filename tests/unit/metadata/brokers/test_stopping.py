"""Whether a broker may be stopped: leaders, in-sync sets and the majority of the quorum."""

import pytest
from msgspec.structs import replace

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.brokers.stopping import (
    FollowingVoters,
    StopObstacle,
    StopRule,
    avoidable_first,
    obstacles_to_stop,
)
from tidelog.metadata.image.entities import PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage

ALL = FollowingVoters((1, 2, 3), (1, 2, 3))
TWO = BrokerConfig({"min.insync.replicas": 2})


def with_partition(
    image: ClusterImage, replicas: tuple[int, ...], isr: tuple[int, ...], leader: int
) -> ClusterImage:
    topic = TopicImage("t", bytes(15) + b"t", (PartitionImage(0, replicas, isr, leader),))
    return replace(image, topics={"t": topic}, topics_by_id={topic.id: topic})


def test_a_broker_whose_partitions_are_in_sync_elsewhere_may_be_stopped(cluster):
    image = with_partition(cluster(3), (1, 2, 3), (1, 2, 3), 1)
    assert [obstacles_to_stop(image, id, ALL, TWO) for id in (1, 2, 3)] == [[], [], []]


def test_another_replica_must_be_able_to_lead(cluster):
    image = with_partition(cluster(3), (1, 2, 3), (1,), 1)
    assert obstacles_to_stop(image, 1, ALL) == [StopObstacle(StopRule.KEEPS_LEADER, 0, 1, "t", 0)]
    assert obstacles_to_stop(image, 2, ALL) == []


def test_enough_replicas_must_remain_in_sync(cluster):
    image = with_partition(cluster(3), (1, 2, 3), (1, 2), 1)
    for id in (1, 2):
        assert obstacles_to_stop(image, id, ALL, TWO) == [
            StopObstacle(StopRule.KEEPS_MIN_IN_SYNC, 1, 2, "t", 0)
        ]
    assert obstacles_to_stop(image, 3, ALL, TWO) == []


def test_a_replica_that_the_partition_waits_for_must_not_be_stopped(cluster):
    image = with_partition(cluster(3), (1, 2, 3), (1,), 1)
    assert obstacles_to_stop(image, 2, ALL, TWO) == [StopObstacle(StopRule.CATCHES_UP, 1, 2, "t", 0)]


def test_a_broker_that_is_stopping_does_not_count_as_in_sync(cluster):
    image = with_partition(cluster(3), (1, 2, 3), (1, 2, 3), 1)
    brokers = {**image.brokers, 3: replace(image.brokers[3], shutting_down=True)}
    found = obstacles_to_stop(replace(image, brokers=brokers), 2, ALL, TWO)
    assert [one.rule for one in found] == [StopRule.KEEPS_MIN_IN_SYNC]


@pytest.mark.parametrize(("replicas", "config"), [((1,), BrokerConfig()), ((1, 2), TWO)])
def test_too_few_replicas_are_unavoidable(cluster, replicas, config):
    image = with_partition(cluster(3), replicas, replicas, 1)
    [found] = obstacles_to_stop(image, 1, ALL, config)
    assert found.unavoidable


def test_a_lost_leader_is_avoidable_while_there_is_another_replica(cluster):
    image = with_partition(cluster(3), (1, 2), (1,), 1)
    assert obstacles_to_stop(image, 1, ALL, TWO) == [
        StopObstacle(StopRule.KEEPS_LEADER, 0, 2, "t", 0, unavoidable=False)
    ]


def test_a_replica_in_a_failed_log_dir_is_not_waited_for(cluster):
    image = with_partition(cluster(3), (1, 2, 3), (1,), 1)
    good, failed = bytes(15) + b"g", bytes(15) + b"f"
    image = replace(image, brokers={**image.brokers, 2: replace(image.brokers[2], directories=(good,))})
    [partition] = image.topics["t"].partitions
    topic = replace(image.topics["t"], partitions=(replace(partition, directories=(good, failed, good)),))
    image = replace(image, topics={"t": topic})
    assert obstacles_to_stop(image, 2, ALL, TWO) == []


def test_a_shortened_list_shows_what_is_avoidable():
    hopeless = StopObstacle(StopRule.KEEPS_MIN_IN_SYNC, 1, 2, "t", 0, unavoidable=True)
    passing = StopObstacle(StopRule.KEEPS_MIN_IN_SYNC, 1, 2, "t", 1)
    assert avoidable_first([hopeless, passing]) == [passing, hopeless]


def test_the_topics_own_minimum_counts(cluster):
    image = with_partition(cluster(3), (1, 2, 3), (1, 2, 3), 1)
    topic = replace(image.topics["t"], configs={"min.insync.replicas": "3"})
    image = replace(image, topics={"t": topic})
    assert [one.needed for one in obstacles_to_stop(image, 2, ALL)] == [3]


@pytest.mark.parametrize(
    ("voters", "following", "broker", "expected"),
    [
        ((1, 2, 3), (1, 2, 3), 2, None),
        ((1, 2, 3), (1, 2), 2, (1, 2, False)),
        ((1, 2, 3), (1, 2), 3, None),  # it is away already
        ((1, 2), (1, 2), 1, (1, 2, True)),
        ((1,), (1,), 1, (0, 1, True)),
        ((1, 2, 3), (1, 2), 4, None),  # it has no vote
    ],
)
def test_the_quorum_keeps_its_majority(cluster, voters, following, broker, expected):
    found = obstacles_to_stop(cluster(4), broker, FollowingVoters(voters, following))
    assert [(one.have, one.needed, one.unavoidable) for one in found] == ([expected] if expected else [])
    assert all(one.rule is StopRule.KEEPS_QUORUM and one.topic is None for one in found)


def test_a_fenced_broker_keeps_nothing_up(cluster):
    image = with_partition(cluster(3, fenced=(2,)), (1, 2), (1,), 1)
    assert obstacles_to_stop(image, 2, FollowingVoters((1, 2, 3), (1, 3)), TWO) == []


def test_an_unknown_broker_is_refused(cluster):
    with pytest.raises(KafkaError) as caught:
        obstacles_to_stop(cluster(3), 9, ALL)
    assert caught.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED
