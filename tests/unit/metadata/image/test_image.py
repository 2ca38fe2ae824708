import pytest

from tidelog.base.ids import uuid_parse, uuid_text
from tidelog.base.invariant import InvariantError
from tidelog.metadata.image.entities import NO_LEADER, ConfigResource
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import (
    BrokerChanged,
    BrokerRegistered,
    BrokerUnregistered,
    ClusterCreated,
    ConfigChanged,
    Endpoint,
    PartitionChanged,
    PartitionCreated,
    ProducerIdsAllocated,
    ResourceKind,
    TopicCreated,
    TopicDeleted,
)

ID = uuid_text(bytes(15) + b"\x01")
OTHER = uuid_text(bytes(15) + b"\x02")
TOPIC = (TopicCreated("orders", ID), PartitionCreated(ID, 0, (1, 2), (1, 2), 1))
BROKER = BrokerRegistered(1, 10, ID, (Endpoint("PLAINTEXT", "localhost", 9092),))


def image_of(*records):
    return advance(ClusterImage(), records).after


def test_topic_is_found_by_name_and_by_id():
    image = image_of(*TOPIC)
    assert image.topic("orders") is image.topic_by_id(uuid_parse(ID))
    assert image.partition("orders", 0).leader == 1
    assert image.partition("orders", 1) is None
    assert image.partition("orders", -1) is None
    assert image.partition("nothing", 0) is None


def test_applying_leaves_the_old_image_alone_and_shares_what_did_not_change():
    before = image_of(*TOPIC, BROKER)
    after = before.apply(TopicCreated("other", OTHER))
    assert set(before.topics) == {"orders"}
    assert set(after.topics) == {"orders", "other"}
    assert after.topics["orders"] is before.topics["orders"]
    assert after.brokers is before.brokers


def test_deleted_topic_takes_partitions_and_settings_along():
    image = image_of(*TOPIC, ConfigChanged(ResourceKind.TOPIC, "orders", "retention.ms", "1"))
    after = image.apply(TopicDeleted(ID))
    assert after.topics == {}
    assert after.topics_by_id == {}
    assert after.configs(ConfigResource(ResourceKind.TOPIC, "orders")) == {}


def test_name_can_be_used_again_in_the_same_batch():
    delta = advance(image_of(*TOPIC), [TopicDeleted(ID), TopicCreated("orders", OTHER)])
    assert delta.after.topics["orders"].id == uuid_parse(OTHER)
    assert list(delta.after.topics_by_id) == [uuid_parse(OTHER)]
    assert [topic.id for topic in delta.topics_deleted] == [uuid_parse(ID)]
    assert [topic.id for topic in delta.topics_created] == [uuid_parse(OTHER)]


def test_topic_created_and_deleted_in_one_batch_leaves_no_trace():
    delta = advance(ClusterImage(), [*TOPIC, TopicDeleted(ID)])
    assert delta.after == ClusterImage()
    assert not delta.topics_created
    assert not delta.topics_deleted
    assert not delta.partitions_created


def test_delta_names_what_changed():
    delta = advance(
        image_of(*TOPIC),
        [
            PartitionCreated(ID, 1, (2,), (2,), 2),
            PartitionChanged(ID, 0, 1, leader=2, leader_epoch=1),
            TopicCreated("other", OTHER),
            PartitionCreated(OTHER, 0, (1,), (1,), 1),
            ConfigChanged(ResourceKind.TOPIC, "other", "retention.ms", "5"),
            ConfigChanged(ResourceKind.BROKER, "", "log.retention.ms", "6"),
            BROKER,
        ],
    )
    assert [(topic.name, part.index) for topic, part in delta.partitions_created] == [
        ("orders", 1),
        ("other", 0),
    ]
    assert [(topic.name, part.leader) for topic, part in delta.partitions_changed] == [("orders", 2)]
    assert [topic.name for topic in delta.topics_created] == ["other"]
    assert delta.configs_changed == ((ResourceKind.TOPIC, "other"), (ResourceKind.BROKER, ""))
    assert delta.brokers_changed == (1,)


def test_no_records_no_new_image():
    image = image_of(*TOPIC)
    delta = advance(image, [])
    assert delta.is_empty
    assert delta.after is image


def test_partition_change_keeps_what_it_does_not_name():
    image = image_of(*TOPIC).apply(PartitionChanged(ID, 0, 1, isr=(1,)))
    partition = image.partition("orders", 0)
    assert (partition.replicas, partition.isr, partition.leader) == ((1, 2), (1,), 1)
    assert (partition.leader_epoch, partition.partition_epoch) == (0, 1)


def test_partition_may_lose_its_leader():
    image = image_of(*TOPIC).apply(PartitionChanged(ID, 0, 1, leader=NO_LEADER, leader_epoch=1))
    assert image.partition("orders", 0).leader == NO_LEADER


def test_setting_without_value_is_gone():
    image = image_of(ConfigChanged(ResourceKind.BROKER, "1", "a", "x"))
    assert image.configs(ConfigResource(ResourceKind.BROKER, "1")) == {"a": "x"}
    assert image.apply(ConfigChanged(ResourceKind.BROKER, "1", "a", None)).broker_configs == {}


def test_broker_comes_changes_and_goes():
    image = image_of(BROKER)
    assert image.brokers[1].is_active
    fenced = image.apply(BrokerChanged(1, 10, fenced=True))
    assert not fenced.brokers[1].is_active
    assert fenced.active_brokers == []
    stopping = image.apply(BrokerChanged(1, 10, shutting_down=True))
    assert stopping.brokers[1].shutting_down
    assert not stopping.brokers[1].fenced
    assert image.apply(BrokerUnregistered(1, 10)).brokers == {}


@pytest.mark.parametrize(
    "record",
    [
        TopicCreated("orders", OTHER),
        TopicCreated("other", ID),
        TopicDeleted(OTHER),
        PartitionCreated(OTHER, 0, (1,), (1,), 1),
        PartitionCreated(ID, 0, (1,), (1,), 1),
        PartitionCreated(ID, 2, (1,), (1,), 1),
        PartitionCreated(ID, 1, (), (), NO_LEADER),
        PartitionCreated(ID, 1, (1, 1), (1,), 1),
        PartitionCreated(ID, 1, (1,), (2,), 1),
        PartitionCreated(ID, 1, (1, 2), (2,), 1),
        PartitionCreated(ID, 1, (1, 2), (2,), 2, directories=(ID,)),
        PartitionChanged(ID, 5, 1),
        PartitionChanged(ID, 0, 0, isr=(1,)),
        PartitionChanged(ID, 0, 1, leader=2),
        PartitionChanged(ID, 0, 1, leader_epoch=-1),
        ConfigChanged(ResourceKind.TOPIC, "nothing", "retention.ms", "1"),
        BrokerRegistered(1, 10, ID, ()),
        BrokerChanged(1, 9, fenced=True),
        BrokerUnregistered(2, 10),
        ProducerIdsAllocated(1, 999),
        ClusterCreated("second"),
    ],
    ids=repr,
)
def test_record_that_does_not_fit_stops_us(record):
    image = image_of(ClusterCreated("first"), *TOPIC, BROKER, ProducerIdsAllocated(1, 1000))
    with pytest.raises(InvariantError):
        image.apply(record)


def test_deleting_twice_in_one_batch_stops_us():
    with pytest.raises(InvariantError):
        advance(image_of(*TOPIC), [TopicDeleted(ID), TopicDeleted(ID)])


def test_partition_of_a_topic_deleted_in_the_same_batch_stops_us():
    with pytest.raises(InvariantError):
        advance(image_of(*TOPIC), [TopicDeleted(ID), PartitionCreated(ID, 1, (1,), (1,), 1)])
