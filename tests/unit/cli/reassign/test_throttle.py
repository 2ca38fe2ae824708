"""Which replicas a throttle counts for: those that give, and those that come; none that merely stays."""

from tidelog.cli.reassign.plan import Move
from tidelog.cli.reassign.throttle import FOLLOWER_REPLICAS, LEADER_REPLICAS, topic_limits
from tidelog.clients.records import TopicPartition


def test_sources_and_targets_by_topic() -> None:
    moves = [
        Move(TopicPartition("a", 0), (1, 2), (2, 3)),
        Move(TopicPartition("a", 1), (2, 3), (4, 3)),
        Move(TopicPartition("b", 0), (1,), (5,)),
    ]
    assert topic_limits(moves) == {
        "a": {LEADER_REPLICAS: "0:1,0:2,1:2,1:3", FOLLOWER_REPLICAS: "0:3,1:4"},
        "b": {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:5"},
    }


def test_a_change_that_copies_nothing_is_not_throttled() -> None:
    assert topic_limits([Move(TopicPartition("a", 0), (1, 2), (2, 1))]) == {}
