import pytest

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import ZERO_UUID
from tidelog.metadata.image.image import advance
from tidelog.metadata.topics.create_topics import NewTopic, TopicDefaults, decide_create_topics
from tidelog.metadata.topics.delete_topics import TopicToDelete, decide_delete_topics


@pytest.fixture
def image(cluster, new_id):
    made = cluster()
    wanted = [NewTopic("a"), NewTopic("b"), NewTopic("c")]
    return advance(
        made, decide_create_topics(made, wanted, defaults=TopicDefaults(), new_id=new_id).records
    ).after


def test_by_name_and_by_id(image):
    b = image.topic("b").id
    decision = decide_delete_topics(image, [TopicToDelete("a"), TopicToDelete(topic_id=b)])
    assert [(r.error, r.name, r.topic_id) for r in decision.results] == [
        (ErrorCode.NONE, "a", image.topic("a").id),
        (ErrorCode.NONE, "b", b),
    ]
    assert set(advance(image, decision.records).after.topics) == {"c"}


@pytest.mark.parametrize(
    ("item", "code"),
    [
        (TopicToDelete("nothing"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicToDelete(topic_id=b"x" * 16), ErrorCode.UNKNOWN_TOPIC_ID),
        (TopicToDelete("a", b"x" * 16), ErrorCode.INVALID_REQUEST),
        (TopicToDelete(None, ZERO_UUID), ErrorCode.INVALID_REQUEST),
    ],
)
def test_refusals_do_not_stop_the_others(image, item, code):
    decision = decide_delete_topics(image, [item, TopicToDelete("c")])
    assert [r.error for r in decision.results] == [code, ErrorCode.NONE]
    assert (decision.results[0].name, decision.results[0].topic_id) == (item.name, item.topic_id)
    assert len(decision.records) == 1


@pytest.mark.parametrize("twice", [TopicToDelete("a"), TopicToDelete(topic_id=(1).to_bytes(16, "big"))])
def test_named_twice(image, twice):
    decision = decide_delete_topics(image, [twice, TopicToDelete("b"), twice])
    assert [r.error for r in decision.results] == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
    ]
    assert decision.results[0].message.startswith("Duplicate topic")


def test_name_and_id_of_the_same_topic_are_one_topic_twice(image):
    decision = decide_delete_topics(image, [TopicToDelete("a"), TopicToDelete(topic_id=image.topic("a").id)])
    assert [r.error for r in decision.results] == [ErrorCode.INVALID_REQUEST] * 2
    assert not decision.records


def test_deletion_can_be_switched_off(image):
    decision = decide_delete_topics(image, [TopicToDelete("a")], enabled=False)
    assert decision.results[0].error == ErrorCode.TOPIC_DELETION_DISABLED
    assert not decision.records
