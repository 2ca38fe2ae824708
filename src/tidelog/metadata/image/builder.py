"""Applies records to a draft of a cluster image: one small method for each kind of record.

The draft holds copies of only those maps and topics that were touched. A record that does not fit
means that a decision was wrong or that the log is corrupt: stop, rather than guess.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from tidelog.base.ids import NodeId, Uuid, uuid_parse
from tidelog.base.invariant import broken, invariant
from tidelog.metadata.image.entities import NO_LEADER, BrokerImage, ConfigResource, PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage, ImageDelta
from tidelog.metadata.image.records import (
    BrokerChanged,
    BrokerRegistered,
    BrokerUnregistered,
    ClusterCreated,
    ConfigChanged,
    FeatureChanged,
    IdText,
    PartitionChanged,
    PartitionCreated,
    ProducerIdsAllocated,
    Record,
    ResourceKind,
    TopicCreated,
    TopicDeleted,
)
from tidelog.metadata.image.security_builder import SECURITY_RECORDS, SecurityDraft
from tidelog.metadata.image.security_records import SecurityRecord


class TopicDraft:
    """A topic while its records come in. Partitions in a list: appending one costs nothing."""

    __slots__ = ("base", "changed", "configs", "configs_changed", "id", "name", "partitions")

    def __init__(self, name: str, topic_id: Uuid, base: TopicImage | None) -> None:
        self.name = name
        self.id = topic_id
        self.base = base  # None for a topic that these records created
        self.partitions = [] if base is None else list(base.partitions)
        self.configs = {} if base is None else dict(base.configs)
        self.changed: set[int] = set()
        self.configs_changed = False

    @property
    def size_before(self) -> int:
        return 0 if self.base is None else len(self.base.partitions)

    def build(self) -> TopicImage:
        return TopicImage(self.name, self.id, tuple(self.partitions), self.configs)


class NamedConfigs:
    """The settings of brokers, groups or subscriptions, by name; nothing is copied before a change."""

    __slots__ = ("_base", "_draft", "changed")

    def __init__(self, base: Mapping[str, Mapping[str, str]]) -> None:
        self._base = base
        self._draft: dict[str, Mapping[str, str]] | None = None
        self.changed: set[str] = set()

    def apply(self, record: ConfigChanged) -> None:
        if self._draft is None:
            self._draft = dict(self._base)
        configs = dict(self._draft.get(record.resource_name, {}))
        _put(configs, record)
        if configs:
            self._draft[record.resource_name] = configs
        else:
            self._draft.pop(record.resource_name, None)
        self.changed.add(record.resource_name)

    def build(self) -> Mapping[str, Mapping[str, str]]:
        return self._base if self._draft is None else self._draft


class ImageBuilder:
    def __init__(self, base: ClusterImage) -> None:
        self._base = base
        self._cluster_id = base.cluster_id
        self._next_producer_id = base.next_producer_id
        self._brokers = dict(base.brokers)
        self._named_configs = {
            ResourceKind.BROKER: NamedConfigs(base.broker_configs),
            ResourceKind.GROUP: NamedConfigs(base.group_configs),
            ResourceKind.CLIENT_METRICS: NamedConfigs(base.client_metrics),
        }
        self._features = base.features
        self._security: SecurityDraft | None = None
        self._drafts: dict[Uuid, TopicDraft] = {}
        self._created_names: dict[str, Uuid] = {}
        self._deleted: dict[Uuid, TopicImage] = {}
        self._brokers_changed: set[NodeId] = set()
        self._count = 0

    def apply(self, record: Record) -> None:
        handler = _APPLY.get(type(record))
        if handler is None:
            broken("a record that does not belong into the metadata log", record=record)
        handler(self, record)
        self._count += 1

    def delta(self) -> ImageDelta:
        base = self._base
        if not self._count:
            return ImageDelta(before=base, after=base)
        drafts = list(self._drafts.values())
        built = {draft.id: draft.build() for draft in drafts}
        topics, topics_by_id = base.topics, base.topics_by_id
        if built or self._deleted:
            topics, topics_by_id = dict(topics), dict(topics_by_id)
            for gone in self._deleted.values():
                del topics[gone.name], topics_by_id[gone.id]
            for topic in built.values():
                topics[topic.name] = topics_by_id[topic.id] = topic
        after = ClusterImage(
            self._cluster_id,
            self._brokers if self._brokers_changed else base.brokers,
            topics,
            topics_by_id,
            self._named_configs[ResourceKind.BROKER].build(),
            self._next_producer_id,
            self._features,
            self._named_configs[ResourceKind.GROUP].build(),
            base.security if self._security is None else self._security.build(),
            self._named_configs[ResourceKind.CLIENT_METRICS].build(),
        )
        configs = [ConfigResource(ResourceKind.TOPIC, d.name) for d in drafts if d.configs_changed]
        configs += [
            ConfigResource(kind, name)
            for kind, named in self._named_configs.items()
            for name in sorted(named.changed)
        ]
        return ImageDelta(
            before=base,
            after=after,
            topics_created=tuple(built[d.id] for d in drafts if d.base is None),
            topics_deleted=tuple(self._deleted.values()),
            partitions_created=tuple(
                (built[d.id], partition) for d in drafts for partition in d.partitions[d.size_before :]
            ),
            partitions_changed=tuple(
                (built[d.id], d.partitions[index])
                for d in drafts
                for index in sorted(d.changed)
                if index < d.size_before
            ),
            configs_changed=tuple(configs),
            brokers_changed=tuple(sorted(self._brokers_changed)),
        )

    def _cluster_created(self, record: ClusterCreated) -> None:
        invariant(not self._cluster_id, "a second cluster in one log", first=self._cluster_id, record=record)
        self._cluster_id = record.cluster_id

    def _broker_registered(self, record: BrokerRegistered) -> None:
        before = self._brokers.get(record.broker_id)
        invariant(
            before is None or before.epoch < record.epoch,
            "broker epoch did not grow",
            before=before,
            record=record,
        )
        directories = tuple(map(_id, record.directories))
        failed: tuple[Uuid, ...] = ()
        if before is not None and len(directories) < len(before.all_directories):
            failed = tuple(known for known in before.all_directories if known not in directories)
        self._brokers_changed.add(record.broker_id)
        self._brokers[record.broker_id] = BrokerImage(
            record.broker_id,
            record.epoch,
            _id(record.incarnation),
            {endpoint.listener: endpoint for endpoint in record.endpoints},
            record.rack,
            directories,
            record.fenced,
            features=record.features,
            failed_directories=failed,
            machine=record.machine,
        )

    def _broker_changed(self, record: BrokerChanged) -> None:
        broker = self._broker(record.broker_id, record.epoch)
        online = broker.directories if record.directories is None else tuple(map(_id, record.directories))
        failed = tuple(directory for directory in broker.directories if directory not in online)
        self._brokers_changed.add(broker.id)
        self._brokers[broker.id] = msgspec.structs.replace(
            broker,
            fenced=broker.fenced if record.fenced is None else record.fenced,
            shutting_down=broker.shutting_down if record.shutting_down is None else record.shutting_down,
            directories=online,
            failed_directories=broker.failed_directories + failed,
        )

    def _broker_unregistered(self, record: BrokerUnregistered) -> None:
        broker = self._broker(record.broker_id, record.epoch)
        self._brokers_changed.add(broker.id)
        del self._brokers[broker.id]

    def _broker(self, broker_id: NodeId, epoch: int) -> BrokerImage:
        broker = self._brokers.get(broker_id)
        if broker is None or broker.epoch != epoch:
            broken("no such registration", broker_id=broker_id, epoch=epoch, known=broker)
        return broker

    def _topic_created(self, record: TopicCreated) -> None:
        topic_id = _id(record.topic_id)
        invariant(self._find(topic_id) is None, "topic id used twice", record=record)
        invariant(self._id_of(record.name) is None, "topic name used twice", record=record)
        self._drafts[topic_id] = TopicDraft(record.name, topic_id, None)
        self._created_names[record.name] = topic_id

    def _topic_deleted(self, record: TopicDeleted) -> None:
        topic_id = _id(record.topic_id)
        draft = self._drafts.pop(topic_id, None)
        base = self._base.topics_by_id.get(topic_id)
        if topic_id in self._deleted or (draft is None and base is None):
            broken("no topic with this id to delete", record=record)
        if draft is not None and draft.base is None:
            del self._created_names[draft.name]
        if base is not None:
            self._deleted[topic_id] = base

    def _partition_created(self, record: PartitionCreated) -> None:
        draft = self._draft(record.topic_id)
        invariant(record.partition == len(draft.partitions), "partitions out of order", record=record)
        partition = PartitionImage(
            record.partition,
            record.replicas,
            record.isr,
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            tuple(map(_id, record.directories)),
            record.adding,
            record.removing,
            record.elr,
            record.last_known_elr,
        )
        _check_partition(partition)
        draft.partitions.append(partition)

    def _partition_changed(self, record: PartitionChanged) -> None:
        draft = self._draft(record.topic_id)
        invariant(0 <= record.partition < len(draft.partitions), "no such partition", record=record)
        old = draft.partitions[record.partition]
        new = PartitionImage(
            old.index,
            old.replicas if record.replicas is None else record.replicas,
            old.isr if record.isr is None else record.isr,
            old.leader if record.leader is None else record.leader,
            old.leader_epoch if record.leader_epoch is None else record.leader_epoch,
            record.partition_epoch,
            old.directories if record.directories is None else tuple(map(_id, record.directories)),
            old.adding if record.adding is None else record.adding,
            old.removing if record.removing is None else record.removing,
            old.elr if record.elr is None else record.elr,
            old.last_known_elr if record.last_known_elr is None else record.last_known_elr,
        )
        invariant(new.partition_epoch > old.partition_epoch, "partition epoch did not grow", old=old, new=new)
        grown = new.leader_epoch > old.leader_epoch
        same_leader = new.leader == old.leader and new.leader_epoch == old.leader_epoch
        invariant(grown or same_leader, "a new leader needs a new epoch", old=old, new=new)
        _check_partition(new)
        draft.partitions[old.index] = new
        draft.changed.add(old.index)

    def _config_changed(self, record: ConfigChanged) -> None:
        if (named := self._named_configs.get(record.resource_kind)) is not None:
            named.apply(record)
            return
        topic_id = self._id_of(record.resource_name)
        if topic_id is None:
            broken("settings for a topic that does not exist", record=record)
        draft = self._draft_of(topic_id)
        _put(draft.configs, record)
        draft.configs_changed = True

    def _producer_ids_allocated(self, record: ProducerIdsAllocated) -> None:
        invariant(
            record.next_producer_id >= self._next_producer_id,
            "producer ids went back",
            next=self._next_producer_id,
            record=record,
        )
        self._next_producer_id = record.next_producer_id

    def _feature_changed(self, record: FeatureChanged) -> None:
        invariant(record.level >= 0, "a feature below level 0", record=record)
        levels = {**self._features, record.name: record.level}
        self._features = {name: level for name, level in levels.items() if level}

    def _security_changed(self, record: SecurityRecord) -> None:
        if self._security is None:
            self._security = SecurityDraft(self._base.security)
        self._security.apply(record)

    def _find(self, topic_id: Uuid) -> TopicDraft | TopicImage | None:
        draft = self._drafts.get(topic_id)
        if draft is not None:
            return draft
        return None if topic_id in self._deleted else self._base.topics_by_id.get(topic_id)

    def _id_of(self, name: str) -> Uuid | None:
        if (created := self._created_names.get(name)) is not None:
            return created
        base = self._base.topics.get(name)
        return None if base is None or base.id in self._deleted else base.id

    def _draft(self, id_text: IdText) -> TopicDraft:
        return self._draft_of(_id(id_text))

    def _draft_of(self, topic_id: Uuid) -> TopicDraft:
        found = self._find(topic_id)
        if found is None:
            broken("no topic with this id", topic_id=topic_id)
        if isinstance(found, TopicDraft):
            return found
        draft = self._drafts[topic_id] = TopicDraft(found.name, topic_id, found)
        return draft


def _check_partition(partition: PartitionImage) -> None:
    replicas = set(partition.replicas)
    fits = (
        partition.replicas
        and len(replicas) == len(partition.replicas)
        and replicas.issuperset(partition.isr)
        and replicas.issuperset(partition.adding)
        and replicas.issuperset(partition.removing)
        and replicas.issuperset(partition.elr)
        and replicas.issuperset(partition.last_known_elr)
        and (not partition.elr or set(partition.elr).isdisjoint(partition.isr))
        and (partition.leader == NO_LEADER or partition.leader in partition.isr)
        and len(partition.directories) in (0, len(partition.replicas))
        and partition.leader_epoch >= 0
    )
    invariant(fits, "a partition whose replicas, leader and in-sync set do not fit", partition=partition)


def _put(configs: dict[str, str], record: ConfigChanged) -> None:
    if record.value is None:
        configs.pop(record.key, None)
    else:
        configs[record.key] = record.value


# Partitions of one topic name the same id, and replicas the same directories, thousands of times in a row.
_id = lru_cache(4096)(uuid_parse)

_APPLY: dict[type, Callable[[ImageBuilder, Any], None]] = {
    ClusterCreated: ImageBuilder._cluster_created,
    BrokerRegistered: ImageBuilder._broker_registered,
    BrokerChanged: ImageBuilder._broker_changed,
    BrokerUnregistered: ImageBuilder._broker_unregistered,
    TopicCreated: ImageBuilder._topic_created,
    TopicDeleted: ImageBuilder._topic_deleted,
    PartitionCreated: ImageBuilder._partition_created,
    PartitionChanged: ImageBuilder._partition_changed,
    ConfigChanged: ImageBuilder._config_changed,
    ProducerIdsAllocated: ImageBuilder._producer_ids_allocated,
    FeatureChanged: ImageBuilder._feature_changed,
    **dict.fromkeys(SECURITY_RECORDS, ImageBuilder._security_changed),
}
