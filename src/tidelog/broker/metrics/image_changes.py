"""Counts changes in the metadata: leaders of partitions, and in-sync sets of those that this broker leads.

The controller takes replicas of a broker that died out of their sets by itself, without asking the leader; so
the counts are taken from the metadata, where every change arrives.
"""

from collections.abc import Iterator

from tidelog.base.ids import NodeId
from tidelog.broker.turns import in_turns
from tidelog.metadata.image.entities import NO_LEADER, PartitionImage
from tidelog.metadata.image.image import ImageDelta
from tidelog.metrics.families import cluster, partitions
from tidelog.metrics.page import Page


class ImageChanges:
    def __init__(self, node_id: NodeId) -> None:
        self._node_id = node_id
        self.elections = 0
        self.unclean_elections = 0
        self.isr_shrinks = 0
        self.isr_expands = 0

    async def on_change(self, delta: ImageDelta) -> None:
        async for piece in in_turns(delta.partitions_changed, 1_000):
            for topic, after in piece:
                before = delta.previous(topic, after.index)
                if before is not None:
                    self._compare(before, after)

    def _compare(self, before: PartitionImage, after: PartitionImage) -> None:
        if after.leader not in (NO_LEADER, before.leader):
            self.elections += 1
            if after.leader not in before.isr and after.leader not in before.elr:
                self.unclean_elections += 1
        if after.leader == self._node_id and before.isr != after.isr:
            self.isr_shrinks += not set(after.isr).issuperset(before.isr)
            self.isr_expands += not set(before.isr).issuperset(after.isr)

    def collect(self, page: Page) -> Iterator[None]:
        page.add(cluster.LEADER_ELECTIONS, self.elections)
        page.add(cluster.UNCLEAN_ELECTIONS, self.unclean_elections)
        page.add(partitions.ISR_SHRINKS, self.isr_shrinks)
        page.add(partitions.ISR_EXPANDS, self.isr_expands)
        yield
