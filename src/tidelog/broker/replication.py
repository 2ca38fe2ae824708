"""Replication on this broker: followers are copied from their leaders, leaders watch who is in sync."""

from tidelog.base.ids import Uuid
from tidelog.broker.context import Services
from tidelog.broker.data_folders import DataFolders
from tidelog.broker.leader_fetcher import FetcherParts
from tidelog.broker.replica_fetchers import ReplicaFetchers
from tidelog.broker.replication_quota import ReplicationQuota
from tidelog.metadata.entities import UNASSIGNED_DIRECTORY
from tidelog.replication.partition import Partition


class Replication:
    def __init__(self, services: Services, folders: DataFolders) -> None:
        self._services = services
        self._folders = folders
        metadata, partitions = services.metadata, services.partitions
        self._fetchers = ReplicaFetchers(
            FetcherParts(
                peers=services.peers,
                clock=services.clock,
                quota=follower_quota(services),
                config=lambda: metadata.config,
                broker_epoch=lambda: services.lifecycle.epoch,
                checkpoint_now=partitions.checkpoint_now,
            ),
            directory_of=self._directory_of,
            is_hosted=lambda p: partitions.current(p.topic_id, p.index) is p,
        )

    def start(self) -> None:
        """The broker has its roles; it is told of those that change from now on."""
        self._services.partitions.on_roles = self._fetchers.on_roles
        self._fetchers.on_roles(list(self._services.partitions))

    def _directory_of(self, partition: Partition) -> Uuid:
        home = self._folders.home_of(partition.topic_id, partition.index)
        return UNASSIGNED_DIRECTORY if home is None else home.id

    async def close(self) -> None:
        self._services.partitions.on_roles = None
        await self._fetchers.close()


def follower_quota(services: Services) -> ReplicationQuota:
    return _quota(services, "follower")


def leader_quota(services: Services) -> ReplicationQuota:
    return _quota(services, "leader")


def _quota(services: Services, side: str) -> ReplicationQuota:
    metadata = services.metadata

    def throttled(topic: str) -> str | None:
        known = metadata.image.topic(topic)
        return None if known is None else known.configs.get(f"{side}.replication.throttled.replicas")

    return ReplicationQuota(
        metadata.node_id,
        lambda: metadata.config.int(f"{side}.replication.throttled.rate"),
        throttled,
        services.clock.monotonic,
    )
