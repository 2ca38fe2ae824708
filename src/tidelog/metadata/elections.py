"""Decides on leader epochs when a leader comes back.

After a crash a leader may have lost the tail of its logs. A new epoch for what it writes from now on lets
consumers and followers that saw the lost tail notice it, instead of reading other records at old offsets.
"""

from tidelog.base.ids import NodeId, uuid_text
from tidelog.metadata.decision import Decision
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.records import PartitionChanged


def decide_epochs_after_crash(image: ClusterImage, *, broker_id: NodeId) -> Decision[None]:
    """The broker leads what it led, under the next epoch. To be called before it serves anybody."""
    return Decision(
        [
            PartitionChanged(
                uuid_text(topic.id),
                partition.index,
                partition.partition_epoch + 1,
                leader=broker_id,
                leader_epoch=partition.leader_epoch + 1,
            )
            for topic in image.topics.values()
            for partition in topic.partitions
            if partition.leader == broker_id
        ],
        [],
    )
