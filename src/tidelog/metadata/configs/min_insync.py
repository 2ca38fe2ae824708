"""What `min.insync.replicas` means once the cluster keeps eligible leader replicas (KIP-966).

The controller and every leader must count alike, so all brokers share the value: it is an entry of the whole
cluster that cannot be removed, and no single broker has its own. Topics may.
"""

from collections.abc import Iterable, Mapping, Sequence

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.image.entities import CLUSTER_DEFAULT, ConfigResource
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import ConfigChanged, PartitionChanged, Record, ResourceKind
from tidelog.metadata.leaders.election_rules import MIN_INSYNC_SETTING, ElectionRules
from tidelog.metadata.leaders.partition_edit import edit_partition


def one_min_insync(image: ClusterImage, config: BrokerConfig) -> list[ConfigChanged]:
    """The records that give all brokers one value, when the cluster begins to keep eligible leader replicas.

    It is the cluster's own, or else what the controller's settings say.
    """
    records = [
        ConfigChanged(ResourceKind.BROKER, name, MIN_INSYNC_SETTING, None)
        for name, configs in image.broker_configs.items()
        if name != CLUSTER_DEFAULT.name and MIN_INSYNC_SETTING in configs
    ]
    if MIN_INSYNC_SETTING not in image.configs(CLUSTER_DEFAULT):
        shared = str(config.int(MIN_INSYNC_SETTING))
        records.append(ConfigChanged(*CLUSTER_DEFAULT, MIN_INSYNC_SETTING, shared))
    return records


def check_min_insync(
    image: ClusterImage, resource: ConfigResource, after: Mapping[str, str], named: Iterable[str]
) -> None:
    """KafkaError for an edit that would let brokers count differently. `named` are the settings it names."""
    if not image.has_elr or resource.kind is not ResourceKind.BROKER or MIN_INSYNC_SETTING not in named:
        return
    if resource != CLUSTER_DEFAULT:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled. Set it for the whole "
            "cluster (the broker resource with an empty name), or for a topic.",
        )
    if MIN_INSYNC_SETTING not in after:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled. Set another value.",
        )


def after_min_insync_changed(
    image: ClusterImage, changes: Sequence[Record], config: BrokerConfig
) -> list[PartitionChanged]:
    """With enough replicas in sync by the new value, high watermarks move again, so the ELR becomes empty."""
    changed = [
        change for change in changes if isinstance(change, ConfigChanged) and change.key == MIN_INSYNC_SETTING
    ]
    if not changed or not image.has_elr:
        return []
    after = advance(image, changed).after
    shared = after.configs(CLUSTER_DEFAULT)
    rules = ElectionRules.of(image, config.with_dynamic(shared, {}, on_problem=lambda _: None))
    topics = {change.resource_name for change in changed if change.resource_kind is ResourceKind.TOPIC}
    of_cluster = any(change.resource_kind is ResourceKind.BROKER for change in changed)
    return [
        record
        for topic in (
            after.topics.values() if of_cluster else [after.topics[name] for name in sorted(topics)]
        )
        for partition in topic.partitions
        if partition.elr and (record := edit_partition(topic, partition, rules)) is not None
    ]
