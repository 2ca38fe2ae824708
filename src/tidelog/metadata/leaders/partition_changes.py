"""Decisions on AlterPartition: a leader proposes its in-sync set, and the controller decides.

The leader may be behind: its request is then refused, and it looks at the metadata again. A replica joins
only as the very process that the leader measured (its broker epoch), and only while that may be elected
afterwards.
"""

from collections.abc import Sequence

import msgspec

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH, Epoch, NodeId, Uuid
from tidelog.metadata.brokers.registration_rules import check_broker_epoch
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.entities import NO_LEADER, BrokerImage, PartitionImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import PartitionChanged, Record
from tidelog.metadata.leaders.election_rules import ElectionRules
from tidelog.metadata.leaders.partition_edit import edit_partition

RECOVERED = 0


class PartitionAlteration(msgspec.Struct, frozen=True):
    """The in-sync set that a leader proposes."""

    topic_id: Uuid
    partition: int
    leader_epoch: Epoch
    partition_epoch: Epoch
    isr: Sequence[tuple[NodeId, Epoch]]
    """Each member with the broker epoch under which it fetched; -1 where the leader does not know it."""
    leader_recovery_state: int = RECOVERED


class AlteredPartition(ItemResult, frozen=True, kw_only=True):
    """The partition as it is now; the fields below the index are set only where there is no error."""

    topic_id: Uuid
    partition: int
    leader: NodeId = NO_LEADER
    leader_epoch: Epoch = NO_EPOCH
    isr: tuple[NodeId, ...] = ()
    partition_epoch: Epoch = NO_EPOCH


def decide_alter_partition(
    image: ClusterImage,
    broker_id: NodeId,
    broker_epoch: Epoch,
    changes: Sequence[PartitionAlteration],
    config: BrokerConfig | None = None,
) -> Decision[AlteredPartition]:
    """Raises STALE_BROKER_EPOCH for all of it; else each partition is answered for itself.

    A change that completes a reassignment may move the leadership away from the asker. It is then made, and
    answered with NEW_LEADER_ELECTED: the asker learns the rest from the metadata log.
    """
    check_broker_epoch(image, broker_id, broker_epoch)
    rules = ElectionRules.of(image, config)
    records: list[Record] = []
    results: list[AlteredPartition] = []
    seen: set[tuple[Uuid, int]] = set()
    for change in changes:
        key = change.topic_id, change.partition
        try:
            if key in seen:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The partition is named twice in one request.")
            seen.add(key)
            record, partition = _altered(image, broker_id, change, rules)
            if record is not None:
                records.append(record)
            if partition.leader != broker_id:
                raise KafkaError(ErrorCode.NEW_LEADER_ELECTED)
        except KafkaError as error:
            results.append(
                AlteredPartition.refused(error, topic_id=change.topic_id, partition=change.partition)
            )
            continue
        results.append(
            AlteredPartition(
                topic_id=change.topic_id,
                partition=change.partition,
                leader=partition.leader,
                leader_epoch=partition.leader_epoch,
                isr=partition.isr,
                partition_epoch=partition.partition_epoch,
            )
        )
    return Decision(records, results)


def _altered(
    image: ClusterImage, broker_id: NodeId, change: PartitionAlteration, rules: ElectionRules
) -> tuple[PartitionChanged | None, PartitionImage]:
    topic = image.topics_by_id.get(change.topic_id)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
    partition = topic.partition(change.partition)
    if partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    _check_epochs(partition, broker_id, change)
    _check_members(image, partition, change)
    record = edit_partition(
        topic,
        partition,
        rules,
        isr=tuple(replica for replica, _ in change.isr),
        election=rules.election_for(topic),
    )
    return record, partition if record is None else partition_after(partition, record)


def partition_after(partition: PartitionImage, record: PartitionChanged) -> PartitionImage:
    """The partition as the response shows it, without directories."""
    return msgspec.structs.replace(
        partition,
        partition_epoch=record.partition_epoch,
        leader=partition.leader if record.leader is None else record.leader,
        leader_epoch=partition.leader_epoch if record.leader_epoch is None else record.leader_epoch,
        isr=partition.isr if record.isr is None else record.isr,
        elr=partition.elr if record.elr is None else record.elr,
        last_known_elr=partition.last_known_elr if record.last_known_elr is None else record.last_known_elr,
    )


def _check_epochs(partition: PartitionImage, broker_id: NodeId, change: PartitionAlteration) -> None:
    if change.leader_epoch > partition.leader_epoch or change.partition_epoch > partition.partition_epoch:
        # The asker has seen more than this controller: another one must be active by now.
        raise KafkaError(ErrorCode.NOT_CONTROLLER)
    if change.leader_epoch < partition.leader_epoch:
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
    if broker_id != partition.leader:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"The leader is broker {partition.leader}.")
    if change.partition_epoch < partition.partition_epoch:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION)


def _check_members(image: ClusterImage, partition: PartitionImage, change: PartitionAlteration) -> None:
    members = [replica for replica, _ in change.isr]
    if len(set(members)) < len(members) or not set(members).issubset(partition.replicas):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"The in-sync set {members} does not fit the replicas.")
    if partition.leader not in members:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"The in-sync set {members} misses the leader.")
    if change.leader_recovery_state != RECOVERED:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The partition's leader has recovered already.")
    refused = [
        f"{replica} ({reason})"
        for replica, epoch in change.isr
        if (reason := _why_ineligible(image.brokers.get(replica), partition, replica, epoch)) is not None
    ]
    if refused:
        raise KafkaError(
            ErrorCode.INELIGIBLE_REPLICA, f"Not eligible for the in-sync set: {', '.join(refused)}."
        )


def _why_ineligible(
    broker: BrokerImage | None, partition: PartitionImage, replica: NodeId, epoch: Epoch
) -> str | None:
    if broker is None:
        return "not registered"
    if broker.shutting_down and replica != partition.leader:  # the leader hands over as soon as it can
        return "shutting down"
    if broker.fenced:
        return "fenced"
    if epoch not in (NO_EPOCH, broker.epoch):
        return f"broker epoch mismatch: requested={epoch} VS expected={broker.epoch}"
    if not broker.has_online(partition.directory_of(replica)):
        return "its directory is offline"
    return None
