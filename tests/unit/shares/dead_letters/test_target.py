import pytest

from tidelog.base.config.config import BrokerConfig
from tidelog.metadata.image.entities import PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.shares.dead_letters.letters import Origin
from tidelog.shares.dead_letters.target import (
    Archived,
    Creatable,
    NoTarget,
    Target,
    choose_target,
    dead_letter_settings,
    target_in,
)

ORIGIN = Origin("orders", 5, "workers")
ENABLED = {"errors.deadletterqueue.group.enable": "true"}
AUTO_CREATE = "errors.deadletterqueue.auto.create.topics.enable"


def topic(name, configs=ENABLED, partitions=3, leader=1):
    parts = tuple(
        PartitionImage(index=index, leader=leader, leader_epoch=0, partition_epoch=0, replicas=(1,), isr=(1,))
        for index in range(partitions)
    )
    return TopicImage(name=name, id=name.encode().ljust(16, b"\0"), partitions=parts, configs=configs)


def image(*topics, **settings):
    groups = {"workers": {f"errors.deadletterqueue.{key}": value for key, value in settings.items()}}
    return ClusterImage(topics={each.name: each for each in topics}, group_configs=groups)


def choose(image, **settings):
    config = BrokerConfig({key.replace("_", "."): value for key, value in settings.items()})
    return choose_target(image, config, ORIGIN)


def of_topic(name):
    return {"topic.name": name}


def test_the_partition_follows_that_of_the_record():
    target = choose(image(topic("dlq.orders"), **of_topic("dlq.orders")))
    assert target == Target("dlq.orders", b"dlq.orders".ljust(16, b"\0"), 2, 1, 1_048_588)


def test_the_limit_is_the_topics_own():
    known = topic("dlq.orders", {**ENABLED, "max.message.bytes": "2000"})
    assert choose(image(known, **of_topic("dlq.orders"))).bytes_max == 2000
    known = topic("dlq.orders", {**ENABLED, "segment.bytes": "1500"})  # where a batch must fit, too
    assert choose(image(known, **of_topic("dlq.orders"))).bytes_max == 1500


def test_without_a_dead_letter_topic_what_waits_is_archived():
    assert choose(image()) == Archived()
    assert choose(image(**of_topic(""))) == Archived()


def test_a_missing_topic_is_created_where_that_is_allowed():
    missing = image(**of_topic("dlq.orders"))
    assert "does not exist" in choose(missing).why
    config = BrokerConfig({AUTO_CREATE: True})
    assert choose_target(missing, config, ORIGIN) == Creatable("dlq.orders")


@pytest.mark.parametrize(
    ("name", "configs", "why"),
    [
        ("dlq.orders", {}, "does not take dead letters"),
        ("dlq.orders", {"errors.deadletterqueue.group.enable": "false"}, "does not take dead letters"),
        ("orders.dead", ENABLED, "start with 'dlq.'"),
        ("__consumer_offsets", ENABLED, "internal"),
    ],
)
def test_topics_that_take_none(name, configs, why):
    refused = choose(image(topic(name, configs), **of_topic(name)))
    assert isinstance(refused, NoTarget)
    assert why in refused.why


def test_a_group_that_reads_its_own_dead_letters_is_refused():
    known = image(topic("dlq.orders"), **of_topic("dlq.orders"))
    refused = choose_target(known, BrokerConfig(), Origin("dlq.orders", 0, "workers"))
    assert isinstance(refused, NoTarget)
    assert "its own dead-letter topic" in refused.why


def test_another_group_may_read_them():
    known = image(topic("dlq.orders"), **of_topic("dlq.orders"))
    other = choose_target(known, BrokerConfig(), Origin("dlq.orders", 0, "repairers"))
    assert other == Archived()


def test_a_partition_without_a_leader_has_to_wait():
    refused = choose(image(topic("dlq.orders", leader=-1), **of_topic("dlq.orders")))
    assert "no leader" in refused.why


def test_a_write_that_was_begun_stays_with_its_topic():
    """Its setting may be gone meanwhile, and it may have more partitions."""
    grown = topic("dlq.orders", {}, partitions=8)
    assert target_in(grown, 2, BrokerConfig()).partition == 2


def test_copies_are_on_unless_the_group_says_no():
    assert dead_letter_settings(image(), BrokerConfig(), "workers").copies_records
    off = image(**{"copy.record.enable": "false"})
    assert not dead_letter_settings(off, BrokerConfig(), "workers").copies_records
