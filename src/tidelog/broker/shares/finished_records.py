"""Deletes what every share group of a topic has finished, in partitions that this broker leads.

For topics with `share.delete.acknowledged`. A round asks all coordinators of share state where the groups of
those topics stand, and moves the log's start behind what all have finished, as DeleteRecords does; followers
follow. A round that misses an answer, or in which anything changed that its answers rest on, deletes nothing:
the next comes soon. ADR 0026 says why this never takes a record that a group has not finished.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from tidelog.base.config.topic_config import topic_setting
from tidelog.base.errors import KafkaError
from tidelog.base.ids import Epoch, NodeId, Uuid
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.peers.peers import Peers
from tidelog.broker.shares.lazy_deletion import SETTING
from tidelog.broker.shares.share_partitions import SharePartitions
from tidelog.metadata.image.entities import TopicImage
from tidelog.metadata.image.image import SHARE_VERSION, ClusterImage
from tidelog.metadata.topics.names import SHARE_GROUP_STATE
from tidelog.replication.partition import Partition
from tidelog.shares.finished import Starts, StoredStart, finished_below, joined
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.share_start_offsets import (
    ShareStartOffsetsRequest,
    ShareStartOffsetsResponse,
    ShareStartShard,
    ShareStartTopic,
)

CALL_SECONDS = 10.0
LANE = "share starts"

log = logging.getLogger("tidelog.broker.shares")


class FinishedRecords:
    def __init__(
        self,
        metadata: MetadataService,
        hosted: HostedPartitions,
        peers: Peers,
        shares: Callable[[], SharePartitions | None],
        retire: Callable[[Partition], None],
    ) -> None:
        """`retire` removes the segments of a partition that the new start empties."""
        self._metadata = metadata
        self._hosted = hosted
        self._peers = peers
        self._shares = shares
        self._retire = retire
        self._image: ClusterImage | None = None
        self._topics: tuple[str, ...] = ()
        self.deleted_records = 0

    async def run_once(self) -> None:
        image = self._metadata.image
        led = self._led(image)
        state_topic = image.topic(SHARE_GROUP_STATE)
        if not led or state_topic is None or not image.features.get(SHARE_VERSION, 0):
            return
        epochs = {partition: partition.leader_epoch for partition in led}
        shares = self._shares()
        loads: set[tuple[Uuid, int]] = set()
        if shares is not None:
            shares.begun_loads = loads
        try:
            answers = await self._ask(state_topic, led)
        finally:
            if shares is not None:
                shares.begun_loads = None
        if answers is None or shares is not self._shares() or not self._hold(state_topic, answers):
            return
        shards = [shard for _, shard in answers.values()]
        for topic_id in {partition.topic_id for partition in led}:
            starts = _starts_of(topic_id, shards)
            for partition, epoch in epochs.items():
                place = partition.topic_id, partition.index
                if place[0] == topic_id and place not in loads:
                    self._delete(partition, epoch, starts)

    def _led(self, image: ClusterImage) -> list[Partition]:
        """The partitions of topics with the setting that this broker leads."""
        before, self._image = self._image, image
        if before is None or before.topics is not image.topics:
            config = self._metadata.config
            self._topics = tuple(
                name
                for name, topic in image.topics.items()
                if topic.configs and topic_setting(SETTING, topic.configs, config) is True
            )
        found = []
        for name in self._topics:
            for index in range(len(image.topics[name].partitions)):
                partition = self._hosted.led(name, index)
                if partition is not None and partition.log.offline is None and partition.log.config.delete:
                    found.append(partition)
        return found

    async def _ask(
        self, state_topic: TopicImage, led: Iterable[Partition]
    ) -> dict[int, tuple[NodeId, ShareStartShard]] | None:
        """The answer of each shard, with the broker that gave it; None where a broker does not answer."""
        indexes: dict[Uuid, list[int]] = {}
        for partition in led:
            indexes.setdefault(partition.topic_id, []).append(partition.index)
        topics = [ShareStartTopic(topic_id=id, partitions=of_topic) for id, of_topic in indexes.items()]
        nodes = sorted({one.leader for one in state_topic.partitions})
        if nodes[0] < 0:
            return None
        calls = [self._call(node, ShareStartOffsetsRequest(topics=topics)) for node in nodes]
        answers: dict[int, tuple[NodeId, ShareStartShard]] = {}
        for node, response in zip(nodes, await asyncio.gather(*calls), strict=True):
            if response is None or response.error_code:
                return None
            answers.update({shard.state_partition: (node, shard) for shard in response.shards})
        return answers

    async def _call(
        self, node: NodeId, request: ShareStartOffsetsRequest
    ) -> ShareStartOffsetsResponse | None:
        try:
            response: ShareStartOffsetsResponse = await self._peers.call(
                node, ApiKey.SHARE_START_OFFSETS, 0, request, timeout=CALL_SECONDS, lane=LANE
            )
        except OSError as error:
            log.info("broker %d does not say where share groups stand: %s", node, error)
            return None
        return response

    def _hold(self, asked: TopicImage, answers: Mapping[int, tuple[NodeId, ShareStartShard]]) -> bool:
        """Whether every shard has answered, each from the broker that still leads it in the same epoch."""
        now = self._metadata.image.topic(SHARE_GROUP_STATE)
        if now is None or now.id != asked.id:
            return False
        for partition in now.partitions:
            node, shard = answers.get(partition.index, (-1, None))
            if shard is None or (node, shard.leader_epoch) != (partition.leader, partition.leader_epoch):
                return False
        return True

    def _delete(self, partition: Partition, epoch: Epoch, starts: Starts) -> None:
        offset = finished_below(starts, partition.index, epoch, partition.log.end)
        if offset is None or not partition.is_leader or partition.leader_epoch != epoch:
            return
        before = partition.log.start
        offset = min(offset, partition.high_watermark)
        if offset <= before or partition.log.offline is not None:
            return
        try:
            partition.log.delete_before(offset)
        except (KafkaError, OSError) as error:
            log.error("%r: finished records below offset %d are not deleted: %s", partition, offset, error)
            return
        self.deleted_records += offset - before
        self._retire(partition)


def _starts_of(topic_id: Uuid, shards: Iterable[ShareStartShard]) -> Starts:
    groups = [group for shard in shards for group in shard.groups if group.topic_id == topic_id]
    return joined(
        (
            (group.group_id, one.partition, StoredStart(one.start_offset, one.leader_epoch))
            for group in groups
            for one in group.partitions
        ),
        (group.group_id for group in groups),
    )
