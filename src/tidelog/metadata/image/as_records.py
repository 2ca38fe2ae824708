"""The records that build an image in one go, in place of all that led to it: what a snapshot holds."""

from collections.abc import Iterable, Iterator

from tidelog.base.ids import uuid_text
from tidelog.metadata.image.entities import BrokerImage, TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import (
    BrokerChanged,
    BrokerRegistered,
    ClusterCreated,
    ConfigChanged,
    FeatureChanged,
    PartitionCreated,
    ProducerIdsAllocated,
    Record,
    ResourceKind,
    TopicCreated,
)
from tidelog.metadata.image.security_builder import security_records

NO_BROKER = -1


def image_records(image: ClusterImage) -> Iterator[Record]:
    """The shortest run of records that leads from an empty image to this one."""
    if image.cluster_id:
        yield ClusterCreated(image.cluster_id)
    for feature, level in image.features.items():
        yield FeatureChanged(feature, level)
    for broker in image.brokers.values():
        yield from _broker_records(broker)
    for name, configs in image.broker_configs.items():
        yield from _config_records(ResourceKind.BROKER, name, configs.items())
    for name, configs in image.group_configs.items():
        yield from _config_records(ResourceKind.GROUP, name, configs.items())
    for name, configs in image.client_metrics.items():
        yield from _config_records(ResourceKind.CLIENT_METRICS, name, configs.items())
    for topic in image.topics.values():
        yield from _topic_records(topic)
    yield from security_records(image.security)
    if image.next_producer_id:
        yield ProducerIdsAllocated(NO_BROKER, image.next_producer_id)


def _broker_records(broker: BrokerImage) -> Iterator[Record]:
    yield BrokerRegistered(
        broker.id,
        broker.epoch,
        uuid_text(broker.incarnation),
        tuple(broker.endpoints.values()),
        broker.rack,
        tuple(map(uuid_text, broker.all_directories)),
        broker.fenced,
        broker.features,
        broker.machine,
    )
    if broker.shutting_down:
        yield BrokerChanged(broker.id, broker.epoch, shutting_down=True)
    if broker.failed_directories:
        online = tuple(map(uuid_text, broker.directories))
        yield BrokerChanged(broker.id, broker.epoch, directories=online)


def _topic_records(topic: TopicImage) -> Iterator[Record]:
    id_text = uuid_text(topic.id)
    yield TopicCreated(topic.name, id_text)
    yield from _config_records(ResourceKind.TOPIC, topic.name, topic.configs.items())
    for partition in topic.partitions:
        yield PartitionCreated(
            id_text,
            partition.index,
            partition.replicas,
            partition.isr,
            partition.leader,
            partition.leader_epoch,
            partition.partition_epoch,
            tuple(map(uuid_text, partition.directories)),
            partition.adding,
            partition.removing,
            partition.elr,
            partition.last_known_elr,
        )


def _config_records(kind: ResourceKind, name: str, configs: Iterable[tuple[str, str]]) -> Iterator[Record]:
    for key, value in configs:
        yield ConfigChanged(kind, name, key, value)
