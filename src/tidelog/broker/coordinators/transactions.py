"""The transaction coordinators of this broker: which partition of `__transaction_state` sees to which id."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, NodeId, ProducerId
from tidelog.base.ports import Clock
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.coordinators.internal_topics import AS_THE_CLUSTER, InternalTopics
from tidelog.broker.coordinators.state_loading import load_batches, report_failure, until_safe
from tidelog.broker.coordinators.transaction_markers import SendMarkers, TransactionMarkers
from tidelog.broker.coordinators.transaction_partition import TransactionPartition
from tidelog.broker.coordinators.waits import CoordinatorWaits
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.metadata.image.image import ImageDelta
from tidelog.metadata.topics.names import TRANSACTION_STATE
from tidelog.replication.partition import Partition
from tidelog.transactions.marker import Marker
from tidelog.transactions.placement import state_partition
from tidelog.transactions.settings import StateTopicSettings, TransactionSettings
from tidelog.transactions.shard import TransactionShard
from tidelog.transactions.transaction import TopicPartition
from tidelog.wire.batch import BatchHeader
from tidelog.wire.record import read_records

LOAD_RETRY_SECONDS = 2.0

log = logging.getLogger("tidelog.broker.transactions")


class Transactions:
    def __init__(
        self,
        metadata: MetadataService,
        partitions: HostedPartitions,
        internal_topics: InternalTopics,
        *,
        clock: Clock,
        take_id: Callable[[], Awaitable[ProducerId]],
        send_markers: SendMarkers,
        run_in_thread: RunInThread,
    ) -> None:
        self._metadata = metadata
        self._partitions = partitions
        self._internal_topics = internal_topics
        self._clock = clock
        self._take_id = take_id
        self._run_in_thread = run_in_thread
        self._serving: dict[int, TransactionPartition] = {}
        self._epochs: dict[int, Epoch] = {}  # under which each of them is served or being loaded
        self._loading: dict[int, asyncio.Task[None]] = {}
        self._waits = CoordinatorWaits(metadata, TRANSACTION_STATE, self._serving.__contains__)
        self._closed = False
        self.markers = TransactionMarkers(send_markers, self._leader_of, clock, self._on_written)

    def start(self) -> None:
        """Load what this broker leads already."""
        for partition in self._partitions:
            if partition.topic == TRANSACTION_STATE:
                self._settle(partition.index, partition)

    def __iter__(self) -> Iterator[TransactionPartition]:
        """The partitions that are loaded and serve."""
        return iter(tuple(self._serving.values()))

    @property
    def is_loading(self) -> bool:
        return bool(self._loading)

    def of(self, transactional_id: str) -> TransactionPartition:
        """Who sees to the id; KafkaError tells the client to look elsewhere or to come back later."""
        index = self.partition_of(transactional_id)
        serving = self._serving.get(index)
        if serving is not None and self._metadata.may_be_stale:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)  # another one may serve it, and know better
        if serving is not None:
            return serving
        image = self._metadata.image.partition(TRANSACTION_STATE, index)
        if index in self._loading or (image is not None and image.leader == self._metadata.node_id):
            # Its log is being read, or is about to be opened: this is the right broker, a moment too early.
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        raise KafkaError(ErrorCode.NOT_COORDINATOR)

    def until_served(self, transactional_id: str) -> Awaitable[None] | None:
        """Not None: `of` would refuse the id now, and not once this is over, or for another reason."""
        return self._waits.until_served(self.partition_of(transactional_id))

    def partition_of(self, transactional_id: str) -> int:
        topic = self._metadata.image.topic(TRANSACTION_STATE)
        count = len(topic.partitions) if topic else StateTopicSettings.of(self._config).partitions
        return state_partition(transactional_id, count)

    def coordinator_of(self, transactional_id: str) -> NodeId | None:
        """The broker that sees to the id, if there is one now."""
        image = self._metadata.image.partition(TRANSACTION_STATE, self.partition_of(transactional_id))
        return None if image is None or image.leader < 0 else image.leader

    @property
    def has_topic(self) -> bool:
        return self._metadata.image.topic(TRANSACTION_STATE) is not None

    async def ensure_topic(self) -> None:
        """Somebody looks for a coordinator: from now on there is one."""
        settings = StateTopicSettings.of(self._config)
        replicas = settings.replication_factor
        if replicas == AS_THE_CLUSTER:
            replicas = self._internal_topics.usual_factor()
        await self._internal_topics.create(
            TRANSACTION_STATE,
            partitions=settings.partitions,
            replication_factor=replicas,
            configs={
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "segment.bytes": str(settings.segment_bytes),
                # One replica less must do, or nothing could be decided while a broker is away.
                "min.insync.replicas": str(max(1, min(settings.min_insync_replicas, replicas - 1))),
                "unclean.leader.election.enable": "false",
            },
        )

    def on_change(self, delta: ImageDelta) -> None:
        for topic in delta.topics_deleted:
            if topic.name == TRANSACTION_STATE:
                for index in list(self._epochs):
                    self._leave(index)
        for topic, image in (*delta.partitions_created, *delta.partitions_changed):
            if topic.name == TRANSACTION_STATE:
                self._settle(image.index, self._partitions.current(topic.id, image.index))
        if delta.after.broker_configs is not delta.before.broker_configs:
            for serving in self:
                serving.shard.settings = TransactionSettings.of(self._config)

    async def close(self) -> None:
        self._closed = True
        self._waits.close()
        tasks = list(self._loading.values())
        for index in list(self._epochs):
            self._leave(index)
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.markers.close()

    @property
    def _config(self) -> BrokerConfig:
        return self._metadata.config

    def _settle(self, index: int, partition: Partition | None) -> None:
        """Transactions go with the leader of their partition: see to them, or leave them to another."""
        epoch = partition.leader_epoch if partition is not None and partition.is_leader else None
        if epoch == self._epochs.get(index):
            return
        self._leave(index)
        if partition is not None and epoch is not None:
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
            serving.close()
        self.markers.drop_shard(index)

    def _begin(self, partition: Partition) -> None:
        shard = TransactionShard(TransactionSettings.of(self._config))
        if partition.log.end == partition.log.start:
            self._serve(partition, shard)
            return
        task = asyncio.get_running_loop().create_task(self._load(partition, shard), name=f"load {partition}")
        self._loading[partition.index] = task
        task.add_done_callback(partial(self._loaded, partition.index))

    def _loaded(self, index: int, task: "asyncio.Task[None]") -> None:
        if self._loading.get(index) is task:
            del self._loading[index]

    async def _load(self, partition: Partition, shard: TransactionShard) -> None:
        """What a producer was told must be there: wait until all of the log is safe, then replay it."""
        began = self._clock.monotonic()
        while True:
            try:
                await until_safe(partition)
                count = await load_batches(partition, partial(_take, shard), self._run_in_thread)
                break
            except Exception as error:
                if not partition.is_leader:
                    return  # and whoever leads now loads it
                report_failure(log, partition, "transactions", error)
            await asyncio.sleep(LOAD_RETRY_SECONDS)
            shard = TransactionShard(TransactionSettings.of(self._config))
        seconds = self._clock.monotonic() - began
        log.info(
            "%s-%d: %d records of transactions loaded in %.2f s",
            partition.topic,
            partition.index,
            count,
            seconds,
        )
        self._serve(partition, shard)

    def _serve(self, partition: Partition, shard: TransactionShard) -> None:
        if self._closed:
            return
        serving = TransactionPartition(
            partition, shard, self._clock, take_id=self._take_id, write_markers=self.markers.write
        )
        self._serving[partition.index] = serving
        serving.start()
        self._waits.settled(partition.index)

    def _on_written(self, shard: int, marker: Marker) -> None:
        serving = self._serving.get(shard)
        if serving is not None:
            serving.complete(marker)

    def _leader_of(self, partition: TopicPartition) -> NodeId | None:
        image = self._metadata.image.partition(*partition)
        return None if image is None else image.leader


def _take(shard: TransactionShard, header: BatchHeader, batch: memoryview) -> int:
    if header.is_control:
        return 0
    count = 0
    for record in read_records(batch):
        if record.key is not None:
            shard.replay(record.key, record.value)
            count += 1
    return count
