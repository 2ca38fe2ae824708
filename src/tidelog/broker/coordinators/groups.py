"""The group coordinators of this broker: which partition of `__consumer_offsets` looks after which group."""

import asyncio
import logging
from collections.abc import Awaitable, Coroutine, Iterator
from functools import partial

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch
from tidelog.base.ports import Clock, Random
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.coordinators.group_loading import load
from tidelog.broker.coordinators.group_partition import GroupPartition
from tidelog.broker.coordinators.internal_topics import InternalTopics
from tidelog.broker.coordinators.state_loading import report_failure, until_held
from tidelog.broker.coordinators.waits import CoordinatorWaits
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.groups.consumer.topics import TopicInfo, Topics
from tidelog.groups.placement import offsets_partition
from tidelog.groups.settings import GroupSettings, OffsetsTopicSettings
from tidelog.groups.shard import GroupShard
from tidelog.metadata.image.image import ImageDelta
from tidelog.metadata.topics.names import CONSUMER_OFFSETS
from tidelog.replication.partition import Partition

FORGET_SECONDS = 1.0
LOAD_RETRY_SECONDS = 2.0

log = logging.getLogger("tidelog.broker.groups")


class Groups:
    def __init__(
        self,
        metadata: MetadataService,
        partitions: HostedPartitions,
        internal_topics: InternalTopics,
        *,
        clock: Clock,
        random: Random,
        run_in_thread: RunInThread,
    ) -> None:
        self._metadata = metadata
        self._internal_topics = internal_topics
        self._partitions = partitions
        self._clock = clock
        self._random = random
        self._run_in_thread = run_in_thread
        self._serving: dict[int, GroupPartition] = {}
        self._epochs: dict[int, Epoch] = {}  # under which each of them is served or being loaded
        self._loading: dict[int, asyncio.Task[None]] = {}
        # Topics that were deleted while somebody was loading, who may have replayed offsets of them by then.
        self._gone: set[str] = set()
        self._waits = CoordinatorWaits(metadata, CONSUMER_OFFSETS, self._serving.__contains__)
        self._closed = False
        self._topics = Topics()

    def start(self) -> None:
        """The cluster is known by now: load what this broker leads already."""
        self._know_topics()
        for partition in self._partitions:
            if partition.topic == CONSUMER_OFFSETS:
                self._settle(partition.index, partition)

    def _settle(self, index: int, partition: Partition | None) -> None:
        """Groups go with the leader of their partition: begin to serve them, or leave them to another."""
        epoch = partition.leader_epoch if partition is not None and partition.is_leader else None
        if epoch == self._epochs.get(index):
            return
        self._leave(index)
        if partition is not None and epoch is not None:
            # A new epoch may mean that others led meanwhile: what is in memory counts for nothing.
            self._epochs[index] = epoch
            self._begin(partition)
        else:
            self._waits.settled(index)

    def _leave(self, index: int) -> None:
        self._epochs.pop(index, None)
        task = self._loading.pop(index, None)
        if task is not None:
            task.cancel()
        serving = self._serving.pop(index, None)
        if serving is not None:
            serving.close(ErrorCode.NOT_COORDINATOR)

    def __iter__(self) -> Iterator[GroupPartition]:
        """The partitions that are loaded and serve."""
        return iter(tuple(self._serving.values()))

    def of(self, group_id: str) -> GroupPartition:
        """Who looks after the group; KafkaError tells the client to look elsewhere or to come back later."""
        index = self.partition_of(group_id)
        serving = self._serving.get(index)
        if serving is not None and self._metadata.may_be_stale:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)  # another one may serve it, and know better
        if serving is not None:
            return serving
        image = self._metadata.image.partition(CONSUMER_OFFSETS, index)
        if index in self._loading or (image is not None and image.leader == self._metadata.node_id):
            # Its log is being read, or is about to be opened: this is the right broker, a moment too early.
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        raise KafkaError(ErrorCode.NOT_COORDINATOR)

    def until_served(self, group_id: str) -> Awaitable[None] | None:
        """Not None: `of` would refuse the group now, and not once this is over, or for another reason."""
        return self._waits.until_served(self.partition_of(group_id))

    def partition_of(self, group_id: str) -> int:
        topic = self._metadata.image.topic(CONSUMER_OFFSETS)
        count = len(topic.partitions) if topic else OffsetsTopicSettings.of(self._config).partitions
        return offsets_partition(group_id, count)

    @property
    def has_topic(self) -> bool:
        return self._metadata.image.topic(CONSUMER_OFFSETS) is not None

    async def ensure_topic(self) -> None:
        """Somebody looks for a coordinator: from now on there is one."""
        settings = OffsetsTopicSettings.of(self._config)
        await self._internal_topics.create(
            CONSUMER_OFFSETS,
            partitions=settings.partitions,
            replication_factor=settings.replication_factor,
            configs={
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(settings.segment_bytes),
            },
        )

    def on_change(self, delta: ImageDelta) -> Coroutine[None, None, None] | None:
        for topic in delta.topics_deleted:
            if topic.name == CONSUMER_OFFSETS:
                self._let_go()
        for topic, image in (*delta.partitions_created, *delta.partitions_changed):
            if topic.name == CONSUMER_OFFSETS:
                self._settle(image.index, self._partitions.current(topic.id, image.index))
        gone = [topic.name for topic in delta.topics_deleted]
        if self._loading:
            self._gone.update(gone)
        if delta.topics_deleted or delta.partitions_created:
            self._know_topics()
        settings = self._settings() if _has_other_settings(delta) else None
        for serving in self:
            if gone:
                serving.write_all(serving.shard.delete_topics(gone, *serving.now))
            if settings is not None:
                serving.shard.configure(settings)
        return self._until_forgotten() if gone else None

    async def _until_forgotten(self) -> None:
        """Only then is a deletion answered: a new topic of that name must never inherit these offsets."""
        try:
            # Not for long: the followers may be waiting for the very change that is waiting here.
            async with asyncio.timeout(FORGET_SECONDS):
                await asyncio.gather(*(until_held(serving.partition) for serving in self))
        except (KafkaError, TimeoutError) as error:
            log.error(
                "offsets of deleted topics may come back after a crash: %s", str(error) or "not safe yet"
            )

    async def close(self) -> None:
        self._closed = True
        self._waits.close()
        tasks = list(self._loading.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._let_go()

    @property
    def _config(self) -> BrokerConfig:
        return self._metadata.config

    def _let_go(self) -> None:
        for task in self._loading.values():
            task.cancel()
        self._loading.clear()
        for serving in self:
            serving.close(ErrorCode.NOT_COORDINATOR)
        self._serving.clear()
        self._epochs.clear()

    def _begin(self, partition: Partition) -> None:
        shard = self._new_shard()
        if partition.log.end == partition.log.start:
            self._serve(partition, shard)
            return
        task = asyncio.get_running_loop().create_task(self._load(partition, shard), name=f"load {partition}")
        self._loading[partition.index] = task
        task.add_done_callback(partial(self._loaded, partition.index))

    def _new_shard(self) -> GroupShard:
        return GroupShard(self._settings(), self._random)

    def _settings(self) -> GroupSettings:
        return GroupSettings.of(self._config, self._metadata.image.group_configs)

    def _loaded(self, index: int, task: "asyncio.Task[None]") -> None:
        if self._loading.get(index) is task:
            del self._loading[index]
        if not self._loading:
            self._gone.clear()

    async def _load(self, partition: Partition, shard: GroupShard) -> None:
        """What a client was told must be there: wait until all of the log is safe, then replay it."""
        began = self._clock.monotonic()
        while True:
            try:
                await until_held(partition)
                count = await load(partition, shard, self._run_in_thread)
                break
            except Exception as error:
                if not partition.is_leader:
                    return  # and whoever leads now loads it
                report_failure(log, partition, "groups", error)
            await asyncio.sleep(LOAD_RETRY_SECONDS)
            shard = self._new_shard()
        seconds = self._clock.monotonic() - began
        log.info(
            "%s-%d: %d records of groups loaded in %.2f s", partition.topic, partition.index, count, seconds
        )
        self._serve(partition, shard)

    def _serve(self, partition: Partition, shard: GroupShard) -> None:
        if self._closed:
            return
        serving = GroupPartition(
            partition,
            shard,
            self._clock,
            lambda: OffsetsTopicSettings.of(self._config).commit_timeout_ms,
        )
        shard.on_topics_changed(self._topics)
        self._serving[partition.index] = serving
        serving.start()
        self._waits.settled(partition.index)
        offsets = shard.durable.offsets
        committed = {topic for group_id in offsets.group_ids() for topic in offsets.of_group(group_id)}
        # Those that are not there: a crash came between the end of a topic and that of its offsets.
        gone = {name for name in committed if name in self._gone or not self._metadata.image.topic(name)}
        if gone:
            serving.write_all(serving.shard.delete_topics(sorted(gone), *serving.now))

    def _know_topics(self) -> None:
        """What groups of the new protocol can be given; one object for all shards."""
        by_name = {
            topic.name: TopicInfo(topic.id, len(topic.partitions))
            for topic in self._metadata.image.topics.values()
        }
        self._topics = Topics(by_name, self._metadata.version)
        for serving in self:
            serving.shard.on_topics_changed(self._topics)


def _has_other_settings(delta: ImageDelta) -> bool:
    before, after = delta.before, delta.after
    return (
        after.broker_configs is not before.broker_configs or after.group_configs is not before.group_configs
    )
