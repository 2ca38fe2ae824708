"""Decides on CreatePartitions: a topic may grow, never shrink, and keeps its replication factor."""

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.entities import TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import PartitionCreated, Record
from tidelog.metadata.topics.assignments import check_assignment, partition_records
from tidelog.metadata.topics.cordons import open_brokers
from tidelog.metadata.topics.create_topics import check_partition_budget, placement_seed
from tidelog.metadata.topics.placement import place_replicas


class TopicGrowth(msgspec.Struct, frozen=True):
    name: str
    count: int  # how many partitions the topic shall have afterwards
    assignments: Sequence[Sequence[NodeId]] | None = None  # replicas of the new ones only


class GrownTopic(ItemResult, frozen=True, kw_only=True):
    name: str


def decide_create_partitions(
    image: ClusterImage,
    growths: Sequence[TopicGrowth],
    *,
    validate_only: bool = False,
    charge: Callable[[int], None] | None = None,
) -> Decision[GrownTopic]:
    """`charge` is called with the number of new partitions of each topic, and raises KafkaError where a quota
    is used up."""
    named = Counter(growth.name for growth in growths)
    records: list[Record] = []
    results: list[GrownTopic] = []
    created = 0
    for growth in growths:
        try:
            if named[growth.name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            new = _grow(image, growth, created)
            if charge is not None and not validate_only:
                charge(len(new))
        except KafkaError as error:
            results.append(GrownTopic.refused(error, name=growth.name))
            continue
        created += len(new)
        records.extend(new)
        results.append(GrownTopic(name=growth.name))
    return Decision([] if validate_only else records, results)


def _grow(image: ClusterImage, growth: TopicGrowth, created: int) -> list[PartitionCreated]:
    topic = image.topics.get(growth.name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    size = len(topic.partitions)
    if growth.count == size:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {size} partition(s).")
    if growth.count < size:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {size} partition(s); {growth.count} would not be an "
            "increase.",
        )
    check_partition_budget(growth.count - size, created)
    placements = (
        _chosen(image, topic, growth) if growth.assignments is not None else _placed(image, topic, growth)
    )
    return partition_records(image, topic.id, size, placements)


def _chosen(image: ClusterImage, topic: TopicImage, growth: TopicGrowth) -> list[tuple[NodeId, ...]]:
    assignments = growth.assignments or ()
    wanted = growth.count - len(topic.partitions)
    if len(assignments) != wanted:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {wanted} additional partition(s), but only {len(assignments)} assignment(s) "
            "were specified.",
        )
    for replicas in assignments:
        check_assignment(image, replicas, topic.replication_factor)
    return [tuple(replicas) for replicas in assignments]


def _placed(image: ClusterImage, topic: TopicImage, growth: TopicGrowth) -> list[tuple[NodeId, ...]]:
    size = len(topic.partitions)
    return place_replicas(
        open_brokers(image),
        cordoned=len(image.brokers) - len(open_brokers(image)),
        seed=placement_seed(topic.id),
        first=size,
        count=growth.count - size,
        replication_factor=topic.replication_factor,
    )
