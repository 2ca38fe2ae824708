"""Decides on reassignments: which brokers hold a partition's replicas.

The new replicas come first in the list and the old ones stay behind them, until every replica that shall
stay is in sync; `partition_edit` then drops the others. Replicas that were not there before are `adding`,
those that leave are `removing`, and one that an earlier plan added and the new plan drops is both.
A cancel drops all that is `adding`. A broker that dies meanwhile only delays: the plan waits for it.
"""

from collections.abc import Iterator, Sequence

import msgspec

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.entities import PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import PartitionChanged, Record
from tidelog.metadata.leaders.election_rules import Election, ElectionRules
from tidelog.metadata.leaders.partition_edit import edit_partition, without
from tidelog.metadata.topics.assignments import check_assignment


class Reassignment(msgspec.Struct, frozen=True):
    """The requested replicas, the preferred leader first. None cancels a reassignment in progress."""

    topic: str
    partition: int
    replicas: Sequence[NodeId] | None


class ReassignmentResult(ItemResult, frozen=True, kw_only=True):
    topic: str
    partition: int


class OngoingReassignment(msgspec.Struct, frozen=True):
    topic: str
    partition: int
    replicas: tuple[NodeId, ...]
    adding: tuple[NodeId, ...]
    removing: tuple[NodeId, ...]


def decide_alter_reassignments(
    image: ClusterImage,
    wanted: Sequence[Reassignment],
    *,
    allow_replication_factor_change: bool = True,
    config: BrokerConfig | None = None,
) -> Decision[ReassignmentResult]:
    """Each partition succeeds or fails for itself. What needs no copying is done at once."""
    rules = ElectionRules.of(image, config)
    records: list[Record] = []
    results: list[ReassignmentResult] = []
    seen: set[tuple[str, int]] = set()
    for item in wanted:
        try:
            if (item.topic, item.partition) in seen:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The partition is named twice in one request.")
            seen.add((item.topic, item.partition))
            topic, partition = _find(image, item)
            if item.replicas is None:
                record = _cancelled(topic, partition, rules)
            else:
                if not allow_replication_factor_change:
                    _check_replication_factor(partition, len(item.replicas))
                check_assignment(image, item.replicas, None, partition.replicas, partition.adding)
                record = _begun(topic, partition, tuple(item.replicas), rules)
        except KafkaError as error:
            results.append(ReassignmentResult.refused(error, topic=item.topic, partition=item.partition))
            continue
        if record is not None:
            records.append(record)
        results.append(ReassignmentResult(topic=item.topic, partition=item.partition))
    return Decision(records, results)


def list_reassignments(
    image: ClusterImage, wanted: Sequence[tuple[str, Sequence[int]]] | None = None
) -> list[OngoingReassignment]:
    """Those under way, among the given partitions or all; what does not exist is left out."""
    return [
        OngoingReassignment(
            topic.name, partition.index, partition.replicas, partition.adding, partition.removing
        )
        for topic, partition in (image.partitions() if wanted is None else _chosen(image, wanted))
        if partition.is_reassigning
    ]


def _chosen(
    image: ClusterImage, wanted: Sequence[tuple[str, Sequence[int]]]
) -> Iterator[tuple[TopicImage, PartitionImage]]:
    for name, indexes in wanted:
        topic = image.topics.get(name)
        for index in indexes:
            if topic is not None and (partition := topic.partition(index)) is not None:
                yield topic, partition


def _find(image: ClusterImage, item: Reassignment) -> tuple[TopicImage, PartitionImage]:
    topic = image.topics.get(item.topic)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {item.topic}.")
    partition = topic.partition(item.partition)
    if partition is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {item.topic}:{item.partition}."
        )
    return topic, partition


def _check_replication_factor(partition: PartitionImage, wanted: int) -> None:
    heading_for = len(without(partition.replicas, partition.removing))
    if heading_for != wanted:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {heading_for} to {wanted}",
        )


def _begun(
    topic: TopicImage, partition: PartitionImage, target: tuple[NodeId, ...], rules: ElectionRules
) -> PartitionChanged | None:
    original = without(partition.replicas, partition.adding)
    replicas = target + without(partition.replicas, target)
    return edit_partition(
        topic,
        partition,
        rules,
        replicas=replicas,
        adding=without(replicas, original),
        removing=without(replicas, target),
        election=rules.election_for(topic),
    )


def _cancelled(topic: TopicImage, partition: PartitionImage, rules: ElectionRules) -> PartitionChanged | None:
    if not partition.is_reassigning:
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    original = without(partition.replicas, partition.adding)
    isr = without(partition.isr, partition.adding)
    election = rules.election_for(topic)
    can_lead = any(rules.may_lead(partition, replica) for replica in without(partition.elr, partition.adding))
    if not isr and not can_lead:  # only new replicas are in sync: going back costs what the old ones miss
        alive = tuple(replica for replica in original if rules.may_lead(partition, replica))
        if election is not Election.UNCLEAN or not alive:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Unable to revert partition assignment for {topic.name}:{partition.index} because it would "
                "require an unclean leader election.",
            )
        isr = alive[:1]
    return edit_partition(
        topic,
        partition,
        rules,
        replicas=original,
        isr=isr,
        adding=(),
        removing=(),
        election=election,
    )
