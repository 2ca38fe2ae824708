"""Counts changes in the metadata: leaders of partitions, and in-sync sets of those that this broker leads.

The controller takes replicas of a broker that died out of their sets by itself, without asking the leader; so
the counts are taken from the metadata, where every change arrives.
"""

import logging
from collections.abc import Callable, Iterator

from tidelog.base.ids import NodeId
from tidelog.broker.turns import in_turns
from tidelog.metadata.image.entities import NO_LEADER, PartitionImage
from tidelog.metadata.image.image import ImageDelta
from tidelog.metrics.families import cluster, partitions
from tidelog.metrics.page import Page

log = logging.getLogger("tidelog.broker.metadata")


class ImageChanges:
    def __init__(self, node_id: NodeId, is_registered: Callable[[], bool]) -> None:
        """Before this broker is registered it reads what happened earlier, which is not counted again."""
        self._node_id = node_id
        self._is_registered = is_registered
        self.elections = 0
        self.unclean_elections = 0
        self.isr_shrinks = 0
        self.isr_expands = 0

    async def on_change(self, delta: ImageDelta) -> None:
        if not self._is_registered():
            return
        async for piece in in_turns(delta.partitions_changed, 1_000):
            for topic, after in piece:
                before = delta.previous(topic, after.index)
                if before is not None:
                    self._compare(topic.name, before, after)

    def _compare(self, topic: str, before: PartitionImage, after: PartitionImage) -> None:
        if after.leader not in (NO_LEADER, before.leader):
            self.elections += 1
            if _is_unclean(before, after):
                self.unclean_elections += 1
                log.error(
                    "%s-%d is led by broker %d, which was not in sync: records that only others had are lost",
                    *(topic, after.index, after.leader),
                )
        if after.leader == self._node_id and before.isr != after.isr:
            self.isr_shrinks += not set(after.isr).issuperset(before.isr)
            self.isr_expands += not set(before.isr).issuperset(after.isr)

    def collect(self, page: Page) -> Iterator[None]:
        page.add(cluster.LEADER_ELECTIONS, self.elections)
        page.add(cluster.UNCLEAN_ELECTIONS, self.unclean_elections)
        page.add(partitions.ISR_SHRINKS, self.isr_shrinks)
        page.add(partitions.ISR_EXPANDS, self.isr_expands)
        yield


def _is_unclean(before: PartitionImage, after: PartitionImage) -> bool:
    """Whether the new leader may lack acknowledged records.

    Decided for single changes alone: a broker that catches up sees several at once, and the new leader may
    have joined the in-sync set between them. The controller sees each change by itself.
    """
    if after.partition_epoch != before.partition_epoch + 1:
        return False
    if before.is_reassigning and not after.is_reassigning and set(after.isr).issuperset(after.replicas):
        return False  # its completion adds the last replica to the set, and makes it lead, in one record
    return after.leader not in before.isr and after.leader not in before.elr
