"""Deletion of finished records, made when a topic wants it: a broker without such topics has none."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.peers.peers import Peers
from tidelog.metadata.image.image import ClusterImage
from tidelog.replication.partition import Partition

if TYPE_CHECKING:
    from tidelog.broker.shares.finished_records import FinishedRecords
    from tidelog.broker.shares.share_partitions import SharePartitions

ROUND_SECONDS = 5.0
SETTING = "share.delete.acknowledged"


class LazyDeletion:
    def __init__(
        self,
        metadata: MetadataService,
        hosted: HostedPartitions,
        peers: Peers,
        shares: "Callable[[], SharePartitions | None]",
        retire: Callable[[Partition], None],
    ) -> None:
        self._metadata = metadata
        self._hosted = hosted
        self._peers = peers
        self._shares = shares
        self._retire = retire
        self._image: ClusterImage | None = None
        self._made: FinishedRecords | None = None

    @property
    def deleted_records(self) -> int:
        return 0 if self._made is None else self._made.deleted_records

    async def run_once(self) -> None:
        if self._made is None:
            before, self._image = self._image, self._metadata.image
            topics = self._image.topics
            is_same = before is not None and before.topics is topics
            if is_same or not any(SETTING in topic.configs for topic in topics.values()):
                return
            from tidelog.broker.shares.finished_records import FinishedRecords

            self._made = FinishedRecords(
                self._metadata, self._hosted, self._peers, self._shares, self._retire
            )
        await self._made.run_once()
