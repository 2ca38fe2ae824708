"""Decisions on log dirs, by their directory ids (KIP-858): which one holds a replica, and what follows a
failure.

A replica whose log is damaged is assigned to LOST_DIRECTORY, which is never online: it leaves the in-sync
set, unless it is the last member, and is not elected. Once it is repaired, its broker names its directory.
"""

from collections.abc import Iterable, Sequence

import msgspec

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, NodeId, Uuid, uuid_text
from tidelog.metadata.brokers.brokers import decide_fence_broker
from tidelog.metadata.brokers.registration_rules import check_broker_epoch
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.entities import LOST_DIRECTORY, BrokerImage, PartitionImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import BrokerChanged, PartitionChanged, Record
from tidelog.metadata.leaders.election_rules import ElectionRules
from tidelog.metadata.leaders.partition_edit import edit_partition, without


class DirectoryAssignment(msgspec.Struct, frozen=True):
    """A broker reports the log dir of a replica."""

    directory: Uuid
    topic_id: Uuid
    partition: int


class AssignedDirectory(ItemResult, frozen=True, kw_only=True):
    directory: Uuid
    topic_id: Uuid
    partition: int


def unreported_directories(
    image: ClusterImage, broker_id: NodeId, replicas: Iterable[tuple[Uuid, int, Uuid]]
) -> list[DirectoryAssignment]:
    """The replicas of a broker whose directory id in the image is out of date.

    `replicas` are topic ids, partitions and directory ids.
    """
    wrong = []
    for topic_id, index, directory in replicas:
        topic = image.topics_by_id.get(topic_id)
        partition = None if topic is None else topic.partition(index)
        if partition is None or broker_id not in partition.replicas:
            continue
        if partition.directory_of(broker_id) != directory:
            wrong.append(DirectoryAssignment(directory, topic_id, index))
    return wrong


def decide_assign_directories(
    image: ClusterImage,
    broker_id: NodeId,
    broker_epoch: Epoch,
    assignments: Sequence[DirectoryAssignment],
    config: BrokerConfig | None = None,
) -> Decision[AssignedDirectory]:
    """Raises STALE_BROKER_EPOCH for all of it; else each replica is answered for itself."""
    broker = check_broker_epoch(image, broker_id, broker_epoch)
    rules = ElectionRules.of(image, config)
    records: list[Record] = []
    results: list[AssignedDirectory] = []
    seen: set[tuple[Uuid, int]] = set()
    for item in assignments:
        error, message = ErrorCode.NONE, None
        try:
            if (item.topic_id, item.partition) in seen:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The partition is named twice in one request.")
            seen.add((item.topic_id, item.partition))
            record = _assigned(image, broker, item, rules)
            if record is not None:
                records.append(record)
        except KafkaError as refusal:
            error, message = refusal.code, refusal.message
        results.append(
            AssignedDirectory(
                directory=item.directory,
                topic_id=item.topic_id,
                partition=item.partition,
                error=error,
                message=message,
            )
        )
    return Decision(records, results)


def decide_directories_offline(
    image: ClusterImage,
    broker_id: NodeId,
    broker_epoch: Epoch,
    offline: Sequence[Uuid],
    config: BrokerConfig | None = None,
) -> Decision[None]:
    """Replicas in a failed directory leave the in-sync sets and leaderships, as if their broker were fenced.

    A last in-sync replica stays in its set: the disk may come back with all it held. A broker without any
    directory left cannot serve, and is fenced.
    """
    broker = check_broker_epoch(image, broker_id, broker_epoch)
    failed = [directory for directory in broker.directories if directory in offline]
    if not failed:
        return Decision([], [None])
    online = tuple(directory for directory in broker.directories if directory not in offline)
    if not online:
        return decide_fence_broker(image, broker_id, config)
    changed = msgspec.structs.replace(broker, directories=online)
    rules = ElectionRules.of(image, config, changed)
    records: list[Record] = [
        BrokerChanged(broker_id, broker.epoch, directories=tuple(map(uuid_text, online)))
    ]
    for topic, partition in image.partitions():
        if broker_id in partition.isr and partition.directory_of(broker_id) in failed:
            record = edit_partition(
                topic,
                partition,
                rules,
                isr=without(partition.isr, (broker_id,)),
                election=rules.election_for(topic),
            )
            if record is not None:
                records.append(record)
    return Decision(records, [None])


def _assigned(
    image: ClusterImage, broker: BrokerImage, item: DirectoryAssignment, rules: ElectionRules
) -> PartitionChanged | None:
    topic = image.topics_by_id.get(item.topic_id)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
    partition = topic.partition(item.partition)
    if partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if broker.id not in partition.replicas:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    # A log cannot have been moved out of a directory that had failed: the broker began anew, without data.
    before = partition.directory_of(broker.id)
    is_new = before != LOST_DIRECTORY and not broker.has_online(before)
    leaves = is_new or not broker.has_online(item.directory)
    return edit_partition(
        topic,
        partition,
        rules,
        isr=without(partition.isr, (broker.id,)) if leaves else None,
        directories={broker.id: item.directory},
        election=rules.election_for(topic),
        lost=(broker.id,) if is_new else (),
        doubted=(broker.id,) if _can_do_without(partition, broker.id, item, rules) else (),
    )


def _can_do_without(
    partition: PartitionImage, replica: NodeId, item: DirectoryAssignment, rules: ElectionRules
) -> bool:
    """Whether others hold all that was acknowledged: then a damaged replica is just behind.

    The last one that held it stays eligible, may not lead, and waits to be repaired.
    """
    others = without((*partition.isr, *partition.elr), (replica,))
    return rules.has_elr and item.directory == LOST_DIRECTORY and bool(others)
