"""Follower partitions, each with the broker that leads it: one fetcher for each leader.

Notified of a partition after each change of its metadata; answers to older requests are ignored.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from tidelog.base.ids import Epoch, NodeId
from tidelog.broker.replication.copied_partition import CopiedPartition
from tidelog.broker.replication.leader_fetcher import FetcherParts, LeaderFetcher
from tidelog.metadata.image.entities import NO_LEADER
from tidelog.replication.follower_fetch_session import PartitionKey
from tidelog.replication.partition import Partition

log = logging.getLogger("tidelog.broker.followers")


class ReplicaFetchers:
    def __init__(
        self,
        parts: FetcherParts,
        *,
        is_hosted: Callable[[Partition], bool],
    ) -> None:
        self._parts = parts
        self._is_hosted = is_hosted
        self._fetchers: dict[NodeId, LeaderFetcher] = {}
        self._leaders: dict[PartitionKey, tuple[NodeId, Epoch]] = {}
        self._ending: dict[asyncio.Task[None], None] = {}
        self._closed = False

    def __len__(self) -> int:
        """Partitions that are being copied."""
        return len(self._leaders)

    @property
    def leaders(self) -> list[NodeId]:
        return list(self._fetchers)

    def on_roles(self, partitions: Sequence[Partition]) -> None:
        """These have another leader, epoch or set of replicas than before, or are gone from this broker."""
        for partition in partitions:
            if self._is_hosted(partition):
                self.apply_role(partition)
            else:
                self.forget(partition)

    def apply_role(self, partition: Partition) -> None:
        """Its metadata have been applied: copy it from its leader if it has one elsewhere, else don't."""
        leader = partition.leader_id
        if leader in {NO_LEADER, partition.node_id} or self._closed:
            self.forget(partition)
            return
        key = partition.topic_id, partition.index
        before = self._leaders.get(key)
        if before == (leader, partition.leader_epoch):
            return
        if before is not None and before[0] != leader:
            self.forget(partition)
        self._leaders[key] = leader, partition.leader_epoch
        fetcher = self._fetchers.get(leader)
        if fetcher is None:
            fetcher = self._fetchers[leader] = LeaderFetcher(leader, self._parts)
        fetcher.add(CopiedPartition(partition))

    def forget(self, partition: Partition) -> None:
        """The partition is led here now, or is gone, or has no leader."""
        key = partition.topic_id, partition.index
        copied = self._leaders.pop(key, None)
        if copied is None:
            return
        leader = copied[0]
        fetcher = self._fetchers[leader]
        fetcher.remove(key)
        if not len(fetcher):
            del self._fetchers[leader]
            task = asyncio.get_running_loop().create_task(fetcher.stop(), name=f"stop fetching from {leader}")
            self._ending[task] = None
            task.add_done_callback(lambda done: self._ending.pop(done, None))

    async def close(self) -> None:
        self._closed = True
        self._leaders.clear()
        fetchers, self._fetchers = self._fetchers, {}
        await asyncio.gather(*(fetcher.stop() for fetcher in fetchers.values()), *self._ending)
