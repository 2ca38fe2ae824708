"""A partition that leads and has no followers, for tests of what is built on it."""

from collections.abc import Callable

from tidelog.base.ids import ZERO_UUID, Epoch, NodeId, Uuid
from tidelog.metadata.image.entities import PartitionImage
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.log import PartitionLog

NODE: NodeId = 1


def sole_leader(
    log: PartitionLog,
    *,
    topic: str = "orders",
    topic_id: Uuid = ZERO_UUID,
    index: int = 0,
    leader_epoch: Epoch = 0,
    durability: Durability = Durability.FSYNC,
    min_insync_replicas: int = 1,
    on_unsynced: Callable[[Partition], None],
) -> Partition:
    partition = Partition(
        topic,
        topic_id,
        index,
        log,
        node_id=NODE,
        durability=durability,
        min_insync_replicas=min_insync_replicas,
        on_unsynced=on_unsynced,
    )
    partition.apply(PartitionImage(index, (NODE,), (NODE,), NODE, leader_epoch=leader_epoch), now=0.0)
    return partition
