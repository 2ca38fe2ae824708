"""Decisions on topics under a quota: each topic is charged its partitions, and refused for itself."""

import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.decision import decide_at_once
from tidelog.metadata.image.image import advance
from tidelog.metadata.topics.create_partitions import TopicGrowth, decide_create_partitions
from tidelog.metadata.topics.create_topics import (
    NewTopic,
    TopicDefaults,
    create_topics_in_steps,
    decide_create_topics,
)
from tidelog.metadata.topics.delete_topics import TopicToDelete, decide_delete_topics

USED_UP = ErrorCode.THROTTLING_QUOTA_EXCEEDED


class Budget:
    """Topics may take this many partitions, and the one that crosses the line is the last."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.taken: list[int] = []

    def charge(self, count: int) -> None:
        if self.left <= 0:
            raise KafkaError(USED_UP)
        self.left -= count
        self.taken.append(count)


@pytest.fixture
def image(cluster, new_id):
    made = cluster()
    wanted = [NewTopic("a", 2, 1), NewTopic("b", 3, 1)]
    return advance(
        made, decide_create_topics(made, wanted, defaults=TopicDefaults(), new_id=new_id).records
    ).after


def create(image, new_id, budget, *topics, **more):
    return decide_at_once(
        create_topics_in_steps(
            image, topics, defaults=TopicDefaults(), new_id=new_id, charge=budget.charge, **more
        )
    )


def test_new_topics(image, new_id):
    budget = Budget(4)
    decision = create(image, new_id, budget, NewTopic("c", 3, 1), NewTopic("d", 3, 1), NewTopic("e", 1, 1))
    assert [result.error for result in decision.results] == [ErrorCode.NONE, ErrorCode.NONE, USED_UP]
    assert set(advance(image, decision.records).after.topics) == {"a", "b", "c", "d"}
    assert budget.taken == [3, 3]


def test_topics_that_are_refused_or_only_checked_cost_nothing(image, new_id):
    budget = Budget(1)
    [existing] = create(image, new_id, budget, NewTopic("a", 3, 1)).results
    assert existing.error is ErrorCode.TOPIC_ALREADY_EXISTS
    assert create(image, new_id, budget, NewTopic("c", 3, 1), validate_only=True).results[0].ok
    assert budget.taken == []


def test_new_partitions(image):
    budget = Budget(3)
    growths = [TopicGrowth("a", 5), TopicGrowth("b", 4)]
    decision = decide_create_partitions(image, growths, charge=budget.charge)
    assert [result.error for result in decision.results] == [ErrorCode.NONE, USED_UP]
    assert len(decision.records) == 3
    assert budget.taken == [3]
    assert decide_create_partitions(image, growths, validate_only=True, charge=budget.charge).results[1].ok


def test_deleted_topics(image):
    budget = Budget(2)
    decision = decide_delete_topics(image, [TopicToDelete("a"), TopicToDelete("b")], charge=budget.charge)
    assert [result.error for result in decision.results] == [ErrorCode.NONE, USED_UP]
    assert set(advance(image, decision.records).after.topics) == {"b"}
    assert budget.taken == [2]
