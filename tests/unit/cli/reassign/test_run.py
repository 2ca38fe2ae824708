"""The sentence under a plan: only what it does."""

from tidelog.cli.reassign.plan import Move
from tidelog.cli.reassign.run import summary
from tidelog.clients.records import TopicPartition

PLACE = TopicPartition("t", 0)


def test_a_move() -> None:
    assert summary([Move(PLACE, (1, 2), (3, 2))], 2048) == (
        "1 partition, 1 replica to copy (2 KiB), 1 replica to remove, 1 preferred leader to change."
    )


def test_fewer_replicas() -> None:
    moves = [Move(PLACE, (1, 2, 3), (1, 2)), Move(TopicPartition("t", 1), (2, 3, 1), (2, 3))]
    assert summary(moves, 0) == "2 partitions, 2 replicas to remove."
