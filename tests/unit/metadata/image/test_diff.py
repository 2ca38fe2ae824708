from tidelog.metadata.image.diff import diff
from tidelog.metadata.image.image import advance
from tidelog.metadata.image.records import (
    BrokerChanged,
    ConfigChanged,
    FeatureChanged,
    PartitionChanged,
    PartitionCreated,
    ResourceKind,
    TopicCreated,
    TopicDeleted,
)

ID, OTHER = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAACQ"


def test_a_jump_tells_the_same_as_the_steps(with_topic):
    image = with_topic((1, 2), (2, 1))
    delta = advance(
        image,
        [
            PartitionChanged(ID, 1, 8, leader=1, leader_epoch=6),
            PartitionCreated(ID, 2, (1,), (1,), 1),
            TopicCreated("new", OTHER),
            PartitionCreated(OTHER, 0, (1,), (1,), 1),
            ConfigChanged(ResourceKind.TOPIC, "new", "retention.ms", "5"),
            ConfigChanged(ResourceKind.BROKER, "", "log.retention.ms", "5"),
            ConfigChanged(ResourceKind.GROUP, "g", "consumer.session.timeout.ms", "50000"),
            ConfigChanged(ResourceKind.CLIENT_METRICS, "s", "metrics", "*"),
            BrokerChanged(2, 2, fenced=True),
            FeatureChanged("group.version", 1),
        ],
    )
    assert diff(image, delta.after) == delta
    assert delta.previous(image.topic("t"), 1).leader == 2
    assert delta.previous(delta.after.topic("t"), 2) is None


def test_topic_that_was_deleted_and_made_anew_is_another_one(with_topic):
    image = with_topic((1, 2))
    delta = advance(
        image,
        [TopicDeleted(ID), TopicCreated("t", OTHER), PartitionCreated(OTHER, 0, (1,), (1,), 1)],
    )
    assert diff(image, delta.after) == delta
    assert delta.previous(delta.after.topic("t"), 0) is None
