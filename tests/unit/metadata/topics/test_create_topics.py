import pytest

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import ZERO_UUID
from tidelog.metadata.decision import decide_at_once
from tidelog.metadata.image.entities import UNASSIGNED_DIRECTORY
from tidelog.metadata.image.image import advance
from tidelog.metadata.image.records import BrokerRegistered
from tidelog.metadata.topics.create_topics import (
    NewTopic,
    TopicDefaults,
    create_topics_in_steps,
    decide_create_topics,
)

DEFAULTS = TopicDefaults(num_partitions=3, replication_factor=1)


@pytest.fixture
def decide(new_id):
    def decide(image, *topics, validate_only=False):
        return decide_create_topics(
            image, topics, defaults=DEFAULTS, new_id=new_id, validate_only=validate_only
        )

    return decide


def refusal(decision):
    (result,) = decision.results
    assert not decision.records
    return result.error, result.message


def test_created_topic_appears_in_the_image(cluster, decide):
    image = cluster()
    decision = decide(image, NewTopic("orders", 2, 1, configs=[("retention.ms", "5")]))
    (result,) = decision.results
    after = advance(image, decision.records).after
    topic = after.topic("orders")
    assert result.ok
    assert (result.topic_id, result.num_partitions, result.replication_factor) == (topic.id, 2, 1)
    assert result.configs == topic.configs == {"retention.ms": "5"}
    assert [(p.index, p.leader, p.isr, p.replicas, p.leader_epoch) for p in topic.partitions] == [
        (0, 1, (1,), (1,), 0),
        (1, 1, (1,), (1,), 0),
    ]
    assert topic.partitions[0].directories == image.brokers[1].directories


def test_defaults_stand_in_for_minus_one(cluster, decide):
    (result,) = decide(cluster(), NewTopic("orders")).results
    assert (result.num_partitions, result.replication_factor) == (3, 1)


def test_validate_only_answers_but_writes_nothing(cluster, decide):
    decision = decide(cluster(), NewTopic("orders", 4), validate_only=True)
    assert not decision.records
    assert decision.results[0].ok
    assert decision.results[0].num_partitions == 4
    assert decision.results[0].topic_id == ZERO_UUID


def test_each_topic_fails_for_itself(cluster, decide):
    image = cluster()
    decision = decide(image, NewTopic("good"), NewTopic("bad/name"), NewTopic("good2"))
    assert [result.ok for result in decision.results] == [True, False, True]
    assert set(advance(image, decision.records).after.topics) == {"good", "good2"}


def test_existing_topic(cluster, decide):
    image = cluster()
    image = advance(image, decide(image, NewTopic("a.b")).records).after
    assert refusal(decide(image, NewTopic("a.b"))) == (
        ErrorCode.TOPIC_ALREADY_EXISTS,
        "Topic 'a.b' already exists.",
    )
    assert refusal(decide(image, NewTopic("a_b"))) == (
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        "Topic 'a_b' collides with existing topic: a.b",
    )


def test_collision_within_one_request(cluster, decide):
    decision = decide(cluster(), NewTopic("a.b"), NewTopic("a_b"))
    assert [result.error for result in decision.results] == [
        ErrorCode.NONE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]


def test_same_name_twice_in_one_request_refuses_both(cluster, decide):
    decision = decide(cluster(), NewTopic("a"), NewTopic("b"), NewTopic("a"))
    assert [result.error for result in decision.results] == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
    ]
    assert decision.results[0].message == "Duplicate topic name."


@pytest.mark.parametrize(
    ("topic", "code", "text"),
    [
        (NewTopic(".."), ErrorCode.INVALID_TOPIC_EXCEPTION, "'..' is not allowed"),
        (NewTopic("__cluster_metadata"), ErrorCode.INVALID_REQUEST, "__cluster_metadata is prohibited"),
        (NewTopic("a", 0), ErrorCode.INVALID_PARTITIONS, "invalid non-positive value"),
        (NewTopic("a", -2), ErrorCode.INVALID_PARTITIONS, "invalid non-positive value"),
        (NewTopic("a", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR, "must be larger than 0, or -1"),
        (NewTopic("a", 1, -2), ErrorCode.INVALID_REPLICATION_FACTOR, "must be larger than 0, or -1"),
        (
            NewTopic("a", 1, 4),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Unable to replicate the partition 4 time(s): The target replication factor of 4 cannot be "
            "reached because only 3 broker(s) are registered.",
        ),
        (NewTopic("a", 10_001), ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions"),
        (NewTopic("a", configs=[("nope", "1")]), ErrorCode.INVALID_CONFIG, "Unknown topic config name: nope"),
        (
            NewTopic("a", configs=[("retention.ms", "x")]),
            ErrorCode.INVALID_CONFIG,
            "Invalid value x for conf",
        ),
        (
            NewTopic("a", configs=[("retention.ms", None)]),
            ErrorCode.INVALID_CONFIG,
            "Null value not supported for topic configs: retention.ms",
        ),
        (
            NewTopic("a", configs=[("min.compaction.lag.ms", "9"), ("max.compaction.lag.ms", "8")]),
            ErrorCode.INVALID_CONFIG,
            "min.compaction.lag.ms: 9 is above max.compaction.lag.ms, which is 8",
        ),
        (NewTopic("a", 1, -1, [(0, [1])]), ErrorCode.INVALID_REQUEST, "numPartitions was not set to -1"),
        (NewTopic("a", -1, 1, [(0, [1])]), ErrorCode.INVALID_REQUEST, "replication factor was not set to -1"),
        (
            NewTopic("a", assignments=[(0, [1]), (0, [2])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "multiple manual partition assignments for partition 0",
        ),
        (NewTopic("a", assignments=[(0, [])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "empty replica list"),
        (
            NewTopic("a", assignments=[(0, [1, 9])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "includes broker 9, but",
        ),
        (
            NewTopic("a", assignments=[(0, [2, 2])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "broker 2 more than once",
        ),
        (
            NewTopic("a", assignments=[(0, [1]), (1, [1, 2])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "with 2 replica(s), but this is not consistent with previous partitions, which have 1",
        ),
        (
            NewTopic("a", assignments=[(0, [1]), (2, [1])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "consecutive 0-based integer sequence",
        ),
        (
            NewTopic("a", assignments=[(-1, [1]), (0, [1])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "consecutive 0-based integer sequence",
        ),
    ],
)
def test_refusals(cluster, decide, topic, code, text):
    error, message = refusal(decide(cluster(3), topic))
    assert error == code
    assert text in message


def test_partition_limit_is_for_the_whole_request(cluster, decide):
    decision = decide(cluster(), NewTopic("a", 9_000), NewTopic("b", 1_001), NewTopic("c", 1_000))
    assert [result.error for result in decision.results] == [
        ErrorCode.NONE,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.NONE,
    ]


def test_huge_number_of_partitions_is_refused_before_anything_is_built(cluster, decide):
    assert refusal(decide(cluster(), NewTopic("a", 2**31 - 1)))[0] == ErrorCode.POLICY_VIOLATION


def test_explicit_assignment_in_any_order(cluster, decide):
    image = cluster(3)
    decision = decide(image, NewTopic("a", assignments=[(1, [3, 1]), (0, [2, 3])]))
    topic = advance(image, decision.records).after.topic("a")
    assert [p.replicas for p in topic.partitions] == [(2, 3), (3, 1)]
    assert [p.leader for p in topic.partitions] == [2, 3]
    assert (decision.results[0].num_partitions, decision.results[0].replication_factor) == (2, 2)


def test_fenced_broker_gets_a_replica_but_neither_leads_nor_counts_as_in_sync(cluster, decide):
    image = cluster(2, fenced=(1,))
    decision = decide(image, NewTopic("a", 2, 2), NewTopic("b", assignments=[(0, [1, 2])]))
    after = advance(image, decision.records).after
    for topic in after.topics.values():
        for partition in topic.partitions:
            assert sorted(partition.replicas) == [1, 2]
            assert (partition.leader, partition.isr) == (2, (2,))


def test_all_brokers_fenced(cluster, decide):
    image = cluster(2, fenced=(1, 2))
    error, message = refusal(decide(image, NewTopic("a")))
    assert error == ErrorCode.INVALID_REPLICATION_FACTOR
    assert message.endswith("All brokers are currently fenced or in controlled shutdown.")
    assert (
        refusal(decide(image, NewTopic("a", assignments=[(0, [1])])))[0]
        == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    )


def test_no_broker_at_all(cluster, decide):
    assert refusal(decide(cluster(0), NewTopic("a")))[0] == ErrorCode.INVALID_REPLICATION_FACTOR


def test_directory_stays_open_where_a_broker_has_several(cluster, decide):
    image = cluster()
    known = image.brokers[1]
    image = image.apply(BrokerRegistered(1, 99, "A" * 22, (), None, ("A" * 21 + "Q", "A" * 21 + "g")))
    assert len(image.brokers[1].directories) == 2 != len(known.directories)
    topic = advance(image, decide(image, NewTopic("a")).records).after.topic("a")
    assert topic.partitions[0].directories == (UNASSIGNED_DIRECTORY,)


def test_a_second_try_of_one_request_is_answered_as_the_first(cluster):
    """Its answer was lost, with the connection or the controller, after the topic was made."""
    image = cluster()
    wanted = [NewTopic("mine", 2, 1, configs=[("retention.ms", "5")]), NewTopic("taken", 1, 1)]

    def decide(image, *tokens):
        steps = create_topics_in_steps(
            image,
            wanted,
            defaults=DEFAULTS,
            new_id=lambda: bytes(16),
            ids_of=lambda name: ((token + name.encode()).ljust(16, b".") for token in tokens),
        )
        return decide_at_once(steps)

    first = decide(image, b"1")
    made = advance(image, first.records).after
    for second in (decide(made, b"1"), decide(made, b"3", b"2", b"1")):
        assert not second.records
        assert second.results == first.results
    other = decide(made, b"2")
    assert {result.error for result in other.results} == {ErrorCode.TOPIC_ALREADY_EXISTS}
