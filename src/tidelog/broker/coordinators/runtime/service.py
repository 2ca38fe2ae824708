"""One coordinator on this broker: loads and serves each partition of its topic that the broker leads."""

import asyncio
import logging
from collections.abc import Awaitable, Coroutine, Iterator
from functools import partial
from typing import Generic, TypeVar

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, NodeId
from tidelog.base.ports import Clock
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.coordinators.internal_topics import InternalTopics
from tidelog.broker.coordinators.runtime.loading import load_shard, report_failure
from tidelog.broker.coordinators.runtime.registration import Registration
from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
from tidelog.broker.coordinators.runtime.waits import CoordinatorWaits
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.coordination.placement import partition_of_key
from tidelog.coordination.shard import Shard
from tidelog.metadata.image.image import ImageDelta
from tidelog.replication.partition import Partition

LOAD_RETRY_SECONDS = 2.0

ShardT = TypeVar("ShardT", bound=Shard)


class CoordinatorService(Generic[ShardT]):
    def __init__(
        self,
        registration: Registration[ShardT],
        metadata: MetadataService,
        partitions: HostedPartitions,
        internal_topics: InternalTopics,
        *,
        clock: Clock,
        run_in_thread: RunInThread,
    ) -> None:
        self.registration = registration
        self._metadata = metadata
        self._partitions = partitions
        self._internal_topics = internal_topics
        self._clock = clock
        self._run_in_thread = run_in_thread
        self._log = logging.getLogger(f"tidelog.broker.{registration.name}")
        self._serving: dict[int, ServedPartition[ShardT]] = {}
        self._epochs: dict[int, Epoch] = {}
        """The leader epoch under which each partition is served or being loaded."""
        self._loading: dict[int, asyncio.Task[None]] = {}
        self._failing: set[int] = set()
        """Of these, those that could not be loaded so far."""
        self.load_seconds_max = 0.0
        """The longest time that a shard took to load."""
        self._waits = CoordinatorWaits(metadata, registration.topic, self._serving.__contains__)
        self._closed = False

    def __iter__(self) -> Iterator[ServedPartition[ShardT]]:
        """The partitions that are loaded and serve."""
        return iter(tuple(self._serving.values()))

    @property
    def is_loading(self) -> bool:
        return bool(self._loading)

    @property
    def states(self) -> dict[str, int]:
        """The number of shards that this broker serves, or ought to, by state."""
        loading, failed = len(self._loading), len(self._failing)
        return {"loading": loading - failed, "active": len(self._serving), "failed": failed}

    def of(self, key: str) -> ServedPartition[ShardT]:
        """Returns the partition that holds `key`. KafkaError tells the client to look elsewhere, or later."""
        index = self.partition_of(key)
        serving = self._serving.get(index)
        if serving is not None and self._metadata.may_be_stale:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)  # another broker may serve it by now
        if serving is not None:
            return serving
        image = self._metadata.image.partition(self.registration.topic, index)
        if index in self._loading or (image is not None and image.leader == self._metadata.node_id):
            # Its log is being read, or is about to be opened: this is the right broker, a moment too early.
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        raise KafkaError(ErrorCode.NOT_COORDINATOR)

    def until_served(self, key: str) -> Awaitable[None] | None:
        """Not None: `of` would refuse the key now, and after this wait it does not, or for another reason."""
        return self._waits.until_served(self.partition_of(key))

    def partition_of(self, key: str) -> int:
        topic = self._metadata.image.topic(self.registration.topic)
        count = len(topic.partitions) if topic else self.registration.new_topic().partitions
        return partition_of_key(key, count)

    def leader_of(self, key: str) -> NodeId | None:
        """Returns the broker that coordinates `key`, if there is one now."""
        image = self._metadata.image.partition(self.registration.topic, self.partition_of(key))
        return None if image is None or image.leader < 0 else image.leader

    @property
    def has_topic(self) -> bool:
        return self._metadata.image.topic(self.registration.topic) is not None

    async def ensure_topic(self) -> None:
        """A client looks for a coordinator: create the topic, so that there is one."""
        await self._internal_topics.create(self.registration.topic, self.registration.new_topic())

    def start(self) -> None:
        """Load the partitions that this broker leads already."""
        for partition in self._partitions:
            if partition.topic == self.registration.topic:
                self._follow_leader(partition.index, partition)

    def on_change(self, delta: ImageDelta) -> Coroutine[None, None, None] | None:
        for topic in delta.topics_deleted:
            if topic.name == self.registration.topic:
                self._leave_all()
        for topic, image in (*delta.partitions_created, *delta.partitions_changed):
            if topic.name == self.registration.topic:
                self._follow_leader(image.index, self._partitions.current(topic.id, image.index))
        return self.registration.on_change(delta)

    async def close(self) -> None:
        self._closed = True
        self._waits.close()
        tasks = list(self._loading.values())
        self._leave_all()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _follow_leader(self, index: int, partition: Partition | None) -> None:
        """A shard goes with the leader of its partition: begin to serve it, or leave it to another broker."""
        epoch = partition.leader_epoch if partition is not None and partition.is_leader else None
        if epoch == self._epochs.get(index):
            return
        self._leave(index)
        if partition is not None and epoch is not None:
            # In a new epoch another broker may have led meanwhile: start from the log, not from memory.
            self._epochs[index] = epoch
            self._begin(partition)
        else:
            self._waits.wake(index)

    def _leave_all(self) -> None:
        for index in list(self._epochs):
            self._leave(index)

    def _leave(self, index: int) -> None:
        self._epochs.pop(index, None)
        task = self._loading.pop(index, None)
        if task is not None:
            task.cancel()
            self._failing.discard(index)
        serving = self._serving.pop(index, None)
        if serving is not None:
            serving.close()
            self.registration.on_left(index)

    def _begin(self, partition: Partition) -> None:
        if partition.log.end == partition.log.start:
            self._serve(partition, self.registration.new_shard(partition.leader_epoch))
            return
        task = asyncio.get_running_loop().create_task(self._load(partition), name=f"load {partition}")
        self._loading[partition.index] = task
        task.add_done_callback(partial(self._loaded, partition.index))

    def _loaded(self, index: int, task: "asyncio.Task[None]") -> None:
        if self._loading.get(index) is task:
            del self._loading[index]
            self._failing.discard(index)

    async def _load(self, partition: Partition) -> None:
        """Read the log once all of it is committed: a client may have been told of any record in it."""
        mine = self.registration
        began = self._clock.monotonic()
        shard = mine.new_shard(partition.leader_epoch)
        while True:
            try:
                await mine.until_loadable(partition)
                count = await load_shard(partition, shard, mine.replay_batch, self._run_in_thread)
                break
            except Exception as error:
                if not partition.is_leader:
                    return  # the broker that leads now loads it
                self._failing.add(partition.index)
                report_failure(self._log, partition, mine.name, error)
            await asyncio.sleep(LOAD_RETRY_SECONDS)
            failed, shard = shard, mine.new_shard(partition.leader_epoch)
            mine.on_load_retried(failed, shard)
        seconds = self._clock.monotonic() - began
        self.load_seconds_max = max(self.load_seconds_max, seconds)
        place = f"{partition.topic}-{partition.index}"
        self._log.info("%s: loaded %d records of %s in %.2f s", place, count, mine.name, seconds)
        self._serve(partition, shard)

    def _serve(self, partition: Partition, shard: ShardT) -> None:
        if self._closed:
            return
        mine = self.registration
        serving = ServedPartition(
            partition,
            shard,
            self._clock,
            log=self._log,
            answer_seconds=mine.answer_seconds,
            after_step=mine.after_step,
            on_appended=mine.on_appended,
        )
        self._serving[partition.index] = serving
        serving.start()
        mine.on_served(serving)
        self._waits.wake(partition.index)
