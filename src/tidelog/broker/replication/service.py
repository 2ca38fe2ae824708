"""Replication as a node wires it: the fetches of followers, fetches as a follower, and the in-sync sets."""

from collections.abc import Callable

from tidelog.base.ids import Epoch
from tidelog.base.ports import Clock, Random
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.peers.peers import Peers
from tidelog.broker.quota import ReplicationQuota
from tidelog.broker.replication.isr_keeper import IsrKeeper
from tidelog.broker.replication.leader_fetcher import FetcherParts
from tidelog.broker.replication.replica_fetch import ReplicaFetches
from tidelog.broker.replication.replica_fetchers import ReplicaFetchers
from tidelog.replication.partition import Partition


class Replication:
    def __init__(
        self,
        metadata: MetadataService,
        partitions: HostedPartitions,
        peers: Peers,
        clock: Clock,
        random: Random,
        *,
        broker_epoch: Callable[[], Epoch],
    ) -> None:
        """`broker_epoch`: of this broker's registration, as of now."""
        self._metadata = metadata
        self._partitions = partitions
        self._clock = clock
        self.isr_keeper = IsrKeeper(
            partitions,
            peers,
            clock,
            config=lambda: metadata.config,
            image=lambda: metadata.image,
            broker_epoch=broker_epoch,
        )
        self.fetches = ReplicaFetches(
            partitions,
            clock,
            random,
            config=lambda: metadata.config,
            quota=self._quota("leader"),
            may_join=self.isr_keeper.consider,
        )
        parts = FetcherParts(
            peers=peers,
            clock=clock,
            quota=self._quota("follower"),
            config=lambda: metadata.config,
            broker_epoch=broker_epoch,
            checkpoint_now=partitions.checkpoint_now,
        )
        self.fetchers = ReplicaFetchers(parts, is_hosted=self._is_hosted)

    def start(self) -> None:
        """Partitions that get a role from now on are copied, or watched over."""
        self.isr_keeper.start()
        self._partitions.on_roles = self.fetchers.on_roles

    async def stop_copying(self) -> None:
        """Before the logs are closed."""
        self._partitions.on_roles = None
        await self.fetchers.close()

    async def close(self) -> None:
        await self.stop_copying()
        await self.isr_keeper.stop()
        self.fetches.sessions.end_all()

    def _is_hosted(self, partition: Partition) -> bool:
        return self._partitions.current(partition.topic_id, partition.index) is partition

    def _quota(self, side: str) -> ReplicationQuota:
        metadata = self._metadata
        rate, replicas = f"{side}.replication.throttled.rate", f"{side}.replication.throttled.replicas"

        def throttled(name: str) -> str | None:
            topic = metadata.image.topic(name)
            return None if topic is None else topic.configs.get(replicas)

        return ReplicationQuota(
            metadata.node_id, lambda: metadata.config.int(rate), throttled, self._clock.monotonic
        )
