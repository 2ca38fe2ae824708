"""The cluster image: what all applied metadata records add up to. Immutable, so any caller may keep a
reference.

`advance` is the only way from one image to the next, live and on replay. It copies each map that the
records touch once, however many records there are, and shares all the rest with the image before.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tidelog.base.ids import NodeId, ProducerId, Uuid
from tidelog.metadata.image.entities import BrokerImage, ConfigResource, PartitionImage, TopicImage
from tidelog.metadata.image.records import Record, ResourceKind
from tidelog.metadata.image.security import SecurityImage

ELR_VERSION = "eligible.leader.replicas.version"
"""The feature of eligible leader replicas (KIP-966): at level 1 the controller keeps them."""
SECURITY_VERSION = "tidelog.security.version"
"""At level 1 ACLs, roles, users, quotas and delegation tokens may be written."""
CLIENT_METRICS_VERSION = "tidelog.client.metrics.version"
"""At level 1 subscriptions to clients' metrics (KIP-714) may be written."""
MACHINE_VERSION = "tidelog.machine.version"
"""At level 1 brokers register the machine that they share with others."""
SHARE_VERSION = "share.version"
"""At level 1 brokers serve share groups (KIP-932), at level 2 their dead letters as well (KIP-1191)."""


class ClusterImage(msgspec.Struct, frozen=True):
    cluster_id: str = ""
    brokers: Mapping[NodeId, BrokerImage] = {}
    topics: Mapping[str, TopicImage] = {}
    topics_by_id: Mapping[Uuid, TopicImage] = {}
    broker_configs: Mapping[str, Mapping[str, str]] = {}  # by broker id as text; "" is the cluster's default
    next_producer_id: ProducerId = 0
    features: Mapping[str, int] = {}  # the level that the cluster uses of each; a feature at 0 is not listed
    group_configs: Mapping[
        str, Mapping[str, str]
    ] = {}  # by group id; a group need not exist to have settings
    security: SecurityImage = SecurityImage()
    client_metrics: Mapping[str, Mapping[str, str]] = {}  # by the name of the subscription

    def topic(self, name: str) -> TopicImage | None:
        return self.topics.get(name)

    def topic_by_id(self, topic_id: Uuid) -> TopicImage | None:
        return self.topics_by_id.get(topic_id)

    def partition(self, topic: str, index: int) -> PartitionImage | None:
        found = self.topics.get(topic)
        return None if found is None else found.partition(index)

    def partitions(self) -> Iterator[tuple[TopicImage, PartitionImage]]:
        """Every partition, with its topic."""
        for topic in self.topics.values():
            for partition in topic.partitions:
                yield topic, partition

    def configs(self, resource: ConfigResource) -> Mapping[str, str]:
        """The overrides of a resource; empty where it has none or does not exist."""
        if resource.kind is ResourceKind.TOPIC:
            topic = self.topics.get(resource.name)
            return {} if topic is None else topic.configs
        if resource.kind is ResourceKind.GROUP:
            return self.group_configs.get(resource.name, {})
        if resource.kind is ResourceKind.CLIENT_METRICS:
            return self.client_metrics.get(resource.name, {})
        return self.broker_configs.get(resource.name, {})

    @property
    def has_elr(self) -> bool:
        return self.features.get(ELR_VERSION, 0) > 0

    @property
    def has_security(self) -> bool:
        """Whether every broker understands the records on security."""
        return self.features.get(SECURITY_VERSION, 0) > 0

    @property
    def active_brokers(self) -> list[BrokerImage]:
        return [broker for broker in self.brokers.values() if broker.is_active]

    def apply(self, record: Record) -> "ClusterImage":
        """One record on top. For several at once `advance` is cheaper, and says what changed."""
        return advance(self, (record,)).after


class ImageDelta(msgspec.Struct, frozen=True):
    """What a run of records changed, so that a broker can act on that alone."""

    before: ClusterImage
    after: ClusterImage
    topics_created: tuple[TopicImage, ...] = ()
    topics_deleted: tuple[TopicImage, ...] = ()
    partitions_created: tuple[tuple[TopicImage, PartitionImage], ...] = ()
    """New partitions, those of new topics too."""
    partitions_changed: tuple[tuple[TopicImage, PartitionImage], ...] = ()
    configs_changed: tuple[ConfigResource, ...] = ()
    """Resources with other settings than before; a new topic counts only if it has settings."""
    brokers_changed: tuple[NodeId, ...] = ()
    """Registered, unregistered, fenced, unfenced, stopping, or with other directories than before."""

    @property
    def is_empty(self) -> bool:
        return self.before is self.after

    @property
    def security_changed(self) -> bool:
        return self.before.security is not self.after.security

    def previous(self, topic: TopicImage, index: int) -> PartitionImage | None:
        """The partition as it was; None for a new one, also under the name of a deleted topic."""
        known = self.before.topics_by_id.get(topic.id)
        return None if known is None else known.partition(index)


def advance(image: ClusterImage, records: Iterable[Record]) -> ImageDelta:
    """Raises InvariantError for a record that does not fit the image, and then nothing has changed."""
    from tidelog.metadata.image.builder import ImageBuilder  # it builds images, so it imports this module

    builder = ImageBuilder(image)
    for record in records:
        builder.apply(record)
    return builder.delta()
