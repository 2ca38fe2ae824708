import pytest

from tidelog.base.errors import ErrorCode
from tidelog.metadata.image.image import advance
from tidelog.metadata.topics.create_partitions import TopicGrowth, decide_create_partitions
from tidelog.metadata.topics.create_topics import NewTopic, TopicDefaults, decide_create_topics


@pytest.fixture
def image(cluster, new_id):
    made = cluster(3)
    wanted = [NewTopic("a", 2, 2), NewTopic("b", 1, 1)]
    return advance(
        made, decide_create_topics(made, wanted, defaults=TopicDefaults(), new_id=new_id).records
    ).after


def test_topic_grows_and_keeps_its_replication_factor(image):
    decision = decide_create_partitions(image, [TopicGrowth("a", 5)])
    assert decision.results[0].ok
    topic = advance(image, decision.records).after.topic("a")
    assert [p.index for p in topic.partitions] == [0, 1, 2, 3, 4]
    assert topic.partitions[:2] == image.topic("a").partitions
    assert {len(p.replicas) for p in topic.partitions} == {2}


def test_added_partitions_continue_the_pattern_of_the_first(cluster, new_id):
    one_go = cluster(3)
    two_steps = advance(
        one_go,
        decide_create_topics(
            one_go, [NewTopic("a", 2, 2)], defaults=TopicDefaults(), new_id=lambda: bytes(15) + b"\x07"
        ).records,
    ).after
    two_steps = advance(two_steps, decide_create_partitions(two_steps, [TopicGrowth("a", 9)]).records).after
    one_go = advance(
        one_go,
        decide_create_topics(
            one_go, [NewTopic("a", 9, 2)], defaults=TopicDefaults(), new_id=lambda: bytes(15) + b"\x07"
        ).records,
    ).after
    assert one_go == two_steps


def test_explicit_assignment(image):
    decision = decide_create_partitions(image, [TopicGrowth("a", 3, [[3, 1]])])
    partition = advance(image, decision.records).after.partition("a", 2)
    assert (partition.replicas, partition.leader) == ((3, 1), 3)


def test_validate_only(image):
    decision = decide_create_partitions(image, [TopicGrowth("a", 5)], validate_only=True)
    assert decision.results[0].ok
    assert not decision.records


@pytest.mark.parametrize(
    ("growth", "code", "text"),
    [
        (TopicGrowth("none", 5), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (TopicGrowth("a", 2), ErrorCode.INVALID_PARTITIONS, "Topic already has 2 partition(s)."),
        (
            TopicGrowth("a", 1),
            ErrorCode.INVALID_PARTITIONS,
            "The topic a currently has 2 partition(s); 1 would not be an increase.",
        ),
        (TopicGrowth("a", -1), ErrorCode.INVALID_PARTITIONS, "-1 would not be an increase"),
        (TopicGrowth("a", 2**31 - 1), ErrorCode.POLICY_VIOLATION, "Excessively large"),
        (
            TopicGrowth("a", 4, [[1, 2]]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (TopicGrowth("a", 3, []), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "only 0 assignment(s)"),
        (TopicGrowth("a", 3, [[1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "1 replica(s), but this is not"),
        (TopicGrowth("a", 3, [[1, 7]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no such broker is registered"),
    ],
)
def test_refusals(image, growth, code, text):
    decision = decide_create_partitions(image, [growth, TopicGrowth("b", 2)])
    assert [result.error for result in decision.results] == [code, ErrorCode.NONE]
    assert text in decision.results[0].message


def test_same_topic_twice(image):
    decision = decide_create_partitions(image, [TopicGrowth("a", 3), TopicGrowth("a", 4)])
    assert {result.error for result in decision.results} == {ErrorCode.INVALID_REQUEST}
    assert not decision.records
