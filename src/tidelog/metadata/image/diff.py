"""What differs between two images, as a delta: for a broker that was given a snapshot instead of the records.

A partition that vanished from a topic cannot be told by a delta, and cannot happen: topics only grow.
"""

from collections.abc import Mapping

from tidelog.base.ids import Uuid
from tidelog.metadata.image.entities import ConfigResource, PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage, ImageDelta
from tidelog.metadata.image.records import ResourceKind


def diff(before: ClusterImage, after: ClusterImage) -> ImageDelta:
    old, new = before.topics_by_id, after.topics_by_id
    created: list[tuple[TopicImage, PartitionImage]] = []
    changed: list[tuple[TopicImage, PartitionImage]] = []
    for topic in new.values():
        known = old[topic.id].partitions if topic.id in old else ()
        created += ((topic, partition) for partition in topic.partitions[len(known) :])
        changed += (
            (topic, partition)
            for was, partition in zip(known, topic.partitions, strict=False)
            if was != partition
        )
    return ImageDelta(
        before=before,
        after=after,
        topics_created=tuple(topic for topic in new.values() if topic.id not in old),
        topics_deleted=tuple(topic for topic in old.values() if topic.id not in new),
        partitions_created=tuple(created),
        partitions_changed=tuple(changed),
        configs_changed=tuple(_configs_changed(before, after, old, new)),
        brokers_changed=tuple(
            sorted(
                id
                for id in {**before.brokers, **after.brokers}
                if before.brokers.get(id) != after.brokers.get(id)
            )
        ),
    )


def _configs_changed(
    before: ClusterImage,
    after: ClusterImage,
    old: Mapping[Uuid, TopicImage],
    new: Mapping[Uuid, TopicImage],
) -> list[ConfigResource]:
    nothing: Mapping[str, str] = {}
    topics = [
        ConfigResource(ResourceKind.TOPIC, topic.name)
        for topic in new.values()
        if topic.configs != (old[topic.id].configs if topic.id in old else nothing)
    ]
    return topics + [
        ConfigResource(kind, name)
        for kind, was, now in (
            (ResourceKind.BROKER, before.broker_configs, after.broker_configs),
            (ResourceKind.GROUP, before.group_configs, after.group_configs),
            (ResourceKind.CLIENT_METRICS, before.client_metrics, after.client_metrics),
        )
        for name in sorted({**was, **now})
        if was.get(name, nothing) != now.get(name, nothing)
    ]
