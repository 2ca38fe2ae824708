"""A cordoned broker keeps its replicas and gets no others, no matter which request asks for them."""

import pytest

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode
from tidelog.metadata.brokers.brokers import decide_unregister_broker
from tidelog.metadata.configs.alter_configs import ConfigAlteration, decide_incremental_alter_configs
from tidelog.metadata.configs.edits import ConfigEdit
from tidelog.metadata.leaders.reassignments import Reassignment, decide_alter_reassignments
from tidelog.metadata.topics.cordons import is_cordoned, is_drained, open_brokers
from tidelog.metadata.topics.create_partitions import TopicGrowth, decide_create_partitions
from tidelog.metadata.topics.create_topics import NewTopic, TopicDefaults, decide_create_topics


def create(image, new_id, topic):
    return decide_create_topics(image, [topic], defaults=TopicDefaults(), new_id=new_id)


def test_new_partitions_go_to_the_others(with_topic, cordoned, new_id, apply):
    image = cordoned(with_topic((1, 4), brokers=5), 4)
    assert [broker.id for broker in open_brokers(image)] == [1, 2, 3, 5]
    new_id()  # the first is that of topic t
    made = apply(image, create(image, new_id, NewTopic("new", 20, 3)))
    assert not any(4 in partition.replicas for partition in made.topic("new").partitions)
    grown = apply(image, decide_create_partitions(image, [TopicGrowth("t", 12)]))
    assert not any(4 in partition.replicas for partition in grown.topic("t").partitions[1:])


def test_too_few_brokers_are_left(cluster, cordoned, new_id):
    [refused] = create(cordoned(cluster(3), 3), new_id, NewTopic("new", 1, 3)).results
    assert refused.error is ErrorCode.INVALID_REPLICATION_FACTOR
    assert refused.message.endswith("only 2 broker(s) are registered and 1 more are cordoned.")


def test_a_client_cannot_choose_it(with_topic, cordoned, new_id):
    image = cordoned(with_topic((1, 4)), 4)
    [refused] = create(image, new_id, NewTopic("new", assignments=[(0, [4, 1])])).results
    assert refused.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "broker 4, which is cordoned" in refused.message
    [refused] = decide_create_partitions(image, [TopicGrowth("t", 2, [[4, 1]])]).results
    assert refused.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT


@pytest.mark.parametrize(("target", "allowed"), [((4, 2), True), ((4, 3), False), ((1, 2), True)])
def test_a_replica_may_stay_but_not_come(with_topic, cordoned, target, allowed):
    """Of a partition on 1 and 4, with 3 and 4 cordoned."""
    image = cordoned(with_topic((1, 4)), 3, 4)
    [result] = decide_alter_reassignments(image, [Reassignment("t", 0, target)]).results
    assert (result.error is ErrorCode.NONE) is allowed


def test_drained_means_cordoned_and_empty(with_topic, cordoned):
    image = with_topic((1, 4))
    assert [is_drained(image, id) for id in (3, 4)] == [False, False]
    image = cordoned(image, 3, 4)
    assert [is_drained(image, id) for id in (3, 4)] == [True, False]


def test_the_cordon_goes_with_the_registration(cluster, cordoned, apply):
    image = cordoned(cluster(3), 2, 3)
    image = apply(image, decide_unregister_broker(image, 3))
    assert [is_cordoned(image, id) for id in (2, 3)] == [True, False]


@pytest.mark.parametrize(
    ("broker", "value", "code"),
    [
        ("2", "*", ErrorCode.NONE),
        ("2", "", ErrorCode.NONE),
        ("2", "/data/1", ErrorCode.INVALID_CONFIG),
        ("", "*", ErrorCode.INVALID_REQUEST),
    ],
)
def test_one_broker_is_cordoned_as_a_whole(cluster, apply, broker, value, code):
    image = cluster(3)
    wanted = [ConfigAlteration(4, broker, [ConfigEdit("cordoned.log.dirs", value)])]
    decision = decide_incremental_alter_configs(image, wanted, node_id=1, config=BrokerConfig())
    assert [result.error for result in decision.results] == [code]
    assert is_cordoned(apply(image, decision), 2) is (code is ErrorCode.NONE and value == "*")
