"""Replica lists that a client chose itself: the rules they must keep, and the records they become."""

from collections.abc import Collection, Sequence

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId, Uuid, uuid_text
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import PartitionCreated
from tidelog.metadata.topics.cordons import is_cordoned


def check_assignment(
    image: ClusterImage,
    replicas: Sequence[NodeId],
    replication_factor: int | None,
    present: Collection[NodeId] = (),
    adding: Collection[NodeId] = (),
) -> None:
    """One partition's replica list; `replication_factor` is that of the topic's other partitions.

    Brokers that hold the partition already (`present`) may keep it, even where they are cordoned or share a
    machine. One that a move is `adding` is there beside the one that it shall replace, not to stay with it.
    """
    if not replicas:
        raise _refused("The manual partition assignment includes an empty replica list.")
    seen: set[NodeId] = set()
    for broker in replicas:
        if broker not in image.brokers:
            raise _refused(
                f"The manual partition assignment includes broker {broker}, but no such broker is registered."
            )
        if broker in seen:
            raise _refused(f"The manual partition assignment includes the broker {broker} more than once.")
        seen.add(broker)
        if broker not in present and is_cordoned(image, broker):
            raise _refused(
                f"The manual partition assignment includes broker {broker}, which is cordoned: it is being "
                "drained, and takes no new replicas."
            )
    _check_machines(image, replicas, [broker for broker in present if broker not in adding])
    if replication_factor is not None and len(replicas) != replication_factor:
        raise _refused(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this "
            f"is not consistent with previous partitions, which have {replication_factor} replica(s)."
        )


def _check_machines(image: ClusterImage, replicas: Sequence[NodeId], present: Collection[NodeId]) -> None:
    first_on: dict[str | NodeId, NodeId] = {}
    for broker in replicas:
        other = first_on.setdefault(image.brokers[broker].machine_key, broker)
        if other != broker and not (other in present and broker in present):
            raise _refused(
                f"The manual partition assignment includes brokers {other} and {broker}, which share machine "
                f"{image.brokers[broker].machine}: a partition would lose both replicas at once."
            )


def ordered_assignments(
    image: ClusterImage, assignments: Sequence[tuple[int, Sequence[NodeId]]]
) -> list[tuple[NodeId, ...]]:
    """The replica lists of a whole topic in the order of its partitions, which a client may mix up."""
    by_index: dict[int, tuple[NodeId, ...]] = {}
    replication_factor = None
    for index, replicas in assignments:
        if index in by_index:
            raise _refused(f"Found multiple manual partition assignments for partition {index}")
        check_assignment(image, replicas, replication_factor)
        replication_factor = len(replicas)
        by_index[index] = tuple(replicas)
    if any(index not in by_index for index in range(len(by_index))):
        raise _refused("partitions should be a consecutive 0-based integer sequence")
    return [by_index[index] for index in range(len(by_index))]


def partition_records(
    image: ClusterImage, topic_id: Uuid, first: int, placements: Sequence[tuple[NodeId, ...]]
) -> list[PartitionCreated]:
    """New partitions from `first` on: the first replica that is alive leads, all alive ones are in sync."""
    id_text = uuid_text(topic_id)
    active = {broker.id for broker in image.active_brokers}
    directory = {id: uuid_text(broker.directory_for_new_replica()) for id, broker in image.brokers.items()}
    records = []
    for index, replicas in enumerate(placements, first):
        isr = tuple(broker for broker in replicas if broker in active)
        if not isr:
            raise _refused(
                f"All brokers specified in the manual partition assignment for partition {index} are fenced "
                "or in controlled shutdown."
            )
        directories = tuple(directory[broker] for broker in replicas)
        records.append(PartitionCreated(id_text, index, replicas, isr, isr[0], directories=directories))
    return records


def _refused(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
