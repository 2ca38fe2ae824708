"""Every partition on this broker: found by topic name or id, opened and dropped as the metadata says."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TypeAlias

from tidelog.base.config.config import BrokerConfig, resolve_topic
from tidelog.base.config.topic_config import topic_setting
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, NodeId, Uuid
from tidelog.base.ports import Clock
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.log_dirs.counters import LogCounters
from tidelog.broker.log_dirs.flusher import Flusher, RunInThread
from tidelog.broker.log_dirs.log_deletion import LogDeletion
from tidelog.broker.log_dirs.log_dir import LogDir
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.broker.log_dirs.log_opening import CHUNK, LogOpening, Opened, Replica, Unopened, log_config
from tidelog.broker.log_dirs.recovery_progress import RecoveryProgress, StartProgress
from tidelog.broker.turns import in_turns
from tidelog.metadata.image.diff import diff
from tidelog.metadata.image.entities import PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage, ImageDelta
from tidelog.metadata.image.records import ResourceKind
from tidelog.replication import refusals
from tidelog.replication.partition import Durability, Partition
from tidelog.replication.traffic import TrafficBook
from tidelog.storage.log import PartitionLog

log = logging.getLogger("tidelog.broker.partitions")

TopicKey: TypeAlias = str | Uuid


class HostedPartitions:
    def __init__(
        self,
        node_id: NodeId,
        log_dirs: LogDirs,
        flusher: Flusher,
        clock: Clock,
        run_in_thread: RunInThread,
        *,
        traffic: TrafficBook | None = None,
    ) -> None:
        self._node_id = node_id
        self.log_dirs = log_dirs
        self.traffic = traffic or TrafficBook()
        self.counters = LogCounters()
        self.start_progress = StartProgress()
        self._flusher = flusher
        self._clock = clock
        self._run_in_thread = run_in_thread
        # Those that this broker leads, under the topic's name and under its id: what clients ask for.
        self._by_key: dict[tuple[TopicKey, int], Partition] = {}
        # All of them, the followers too.
        self._any_by_key: dict[tuple[TopicKey, int], Partition] = {}
        self._partitions: dict[tuple[str, int], Partition] = {}
        # Partitions that are ours but cannot be opened, with the reason that clients and operators get.
        self._unusable: dict[tuple[TopicKey, int], str] = {}
        self._without_space: dict[tuple[Uuid, int], bool] = {}
        """Of these, those that a full disk kept from being opened, and whether they are new."""
        self._config = BrokerConfig()
        self._image = ClusterImage()
        self._one_checkpoint = asyncio.Lock()
        self._one_change = asyncio.Lock()
        self._opening = LogOpening(node_id, log_dirs, clock, run_in_thread)
        self._dropping = LogDeletion(log_dirs, run_in_thread)
        self._has_roles = False
        self.on_roles: Callable[[Sequence[Partition]], None] | None = None
        """Called with partitions whose leader, epoch or replicas changed, or that were removed from this
        broker."""

    def __iter__(self) -> Iterator[Partition]:
        return iter(tuple(self._partitions.values()))

    def __len__(self) -> int:
        return len(self._partitions)

    def find(self, topic: TopicKey, index: int) -> Partition:
        """One that this broker leads.

        Raises KafkaError with the code that tells a client whether to refresh, retry or give up.
        """
        partition = self._by_key.get((topic, index))
        if partition is None:
            raise self._why_not(topic, index)
        return partition

    def find_any(self, topic: TopicKey, index: int) -> Partition:
        """One that this broker leads or follows."""
        partition = self._any_by_key.get((topic, index))
        if partition is None:
            raise self._why_not(topic, index)
        return partition

    def note_refused(self, topic: TopicKey, index: int) -> None:
        """A batch of a producer for this partition was refused."""
        partition = self._any_by_key.get((topic, index))
        if partition is not None:
            partition.traffic.refused_batches += 1

    @property
    def unusable(self) -> int:
        """Partitions that are ours but cannot be opened."""
        return len(self._unusable) // 2  # each under the topic's name and under its id

    def led(self, topic: str, index: int) -> Partition | None:
        """The partition if this broker leads it."""
        return self._by_key.get((topic, index))

    def current(self, topic_id: Uuid, index: int) -> Partition | None:
        return self._any_by_key.get((topic_id, index))

    def _why_not(self, topic: TopicKey, index: int) -> KafkaError:
        unusable = self._unusable.get((topic, index))
        if unusable is not None:
            return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, unusable)
        by_name = isinstance(topic, str)
        known = self._image.topic(topic) if isinstance(topic, str) else self._image.topic_by_id(topic)
        if known is not None and known.partition(index) is not None:
            # It exists, and others lead it; or its log is not open yet, and the client will ask again.
            return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if by_name or known is not None:
            return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)

    # Opening

    @property
    def recovery(self) -> RecoveryProgress | None:
        """While logs are checked after an unclean shutdown; None before and after."""
        return self._opening.recovery

    @property
    def recovered_logs(self) -> int:
        """The logs that the start checked, since the broker had not been stopped cleanly."""
        return self._opening.recovered_logs

    def damage(self) -> dict[tuple[str, int], str]:
        """Partitions of this broker whose logs cannot be used, with the reasons."""
        found = {
            (topic, index): why for (topic, index), why in self._unusable.items() if isinstance(topic, str)
        }
        for one in self:
            if one.log.offline is not None:
                found[one.topic, one.index] = str(one.log.offline)
            elif one.log.lost is not None:
                found[one.topic, one.index] = f"records of the offsets {one.log.lost} are lost"
        return found

    async def open_all(self, image: ClusterImage, config: BrokerConfig) -> None:
        """At start: open what the image says is ours, in threads where logs must be scanned.

        What this broker leads and follows is decided later (`take_roles`): the image may be one in which it
        leads partitions that others have taken over.
        """
        self._image, self._config = image, config
        ours = [
            (topic, partition)
            for topic in image.topics.values()
            for partition in topic.partitions
            if self._node_id in partition.replicas
        ]
        self.log_dirs.complete_moves({topic.id: topic.name for topic in image.topics.values()})
        self.log_dirs.set_strays_aside({(topic.id, partition.index) for topic, partition in ours})
        self.start_progress.begin(len(ours), self._clock.monotonic())
        opening = self._opening.open if self.log_dirs.all_clean else self._opening.recover
        await opening(ours, config, self._host)
        self.start_progress.end(self._clock.monotonic())
        unknown = self.log_dirs.name_unknown_partitions({(topic.name, one.index) for topic, one in ours})
        truncated = [partition for partition in self if partition.follower.must_checkpoint]
        if (unknown or truncated) and self.checkpoint_now():
            for partition in truncated:
                partition.follower.checkpointed()

    def _host(self, replica: Replica, opened: Opened) -> None:
        topic, image = replica
        keys: list[tuple[TopicKey, int]] = [(topic.name, image.index), (topic.id, image.index)]
        self._without_space.pop((topic.id, image.index), None)
        self.start_progress.note_opened()
        if isinstance(opened, Unopened):
            self._unusable.update(dict.fromkeys(keys, opened.why))
            if opened.is_shortage:
                self._without_space[topic.id, image.index] = opened.is_new
            return
        for key in keys:
            self._unusable.pop(key, None)
        self.log_dirs.put_in_service(topic.name, opened)
        _report_recovery(topic.name, image.index, opened)
        settings = resolve_topic(topic.configs, self._config)
        partition = Partition(
            topic.name,
            topic.id,
            image.index,
            opened,
            node_id=self._node_id,
            high_watermark=self.log_dirs.high_watermark(topic.name, topic.id, image.index),
            durability=Durability(settings.text("durability")),
            min_insync_replicas=settings.int("min.insync.replicas"),
            on_unsynced=self._flusher.request,
            traffic=self.traffic.join(topic.name),
        )
        self._partitions[topic.name, image.index] = partition
        self._any_by_key.update(dict.fromkeys(keys, partition))
        if self._has_roles:
            self._take_role(partition, image)
            self._notify_roles([partition])

    async def take_roles(self) -> None:
        """This broker is registered: from now on it leads and follows as the image says."""
        async with self._one_change:  # no change may touch a log that a thread works on
            self._has_roles = True
            await self._opening.begin_epochs(self._led_here())
            for topic in self._image.topics.values():
                for image in topic.partitions:
                    partition = self._partitions.get((topic.name, image.index))
                    if partition is not None:
                        self._take_role(partition, image)
            if self.on_roles is not None:
                self.on_roles(list(self))

    def _led_here(self) -> list[tuple[PartitionLog, Epoch]]:
        return [
            (partition.log, image.leader_epoch)
            for topic in self._image.topics.values()
            for image in topic.partitions
            if image.leader == self._node_id
            and (partition := self._partitions.get((topic.name, image.index))) is not None
            and partition.log.lost is None
        ]

    def _take_role(self, partition: Partition, image: PartitionImage) -> None:
        keys: list[tuple[TopicKey, int]] = [
            (partition.topic, partition.index),
            (partition.topic_id, partition.index),
        ]
        try:
            partition.apply(image, self._clock.monotonic())
        except KafkaError as error:
            log.error("%s-%d: %s", partition.topic, partition.index, error.message)
        for key in keys:
            if partition.is_leader:
                self._by_key[key] = partition
            else:
                self._by_key.pop(key, None)

    def take_role_again(self, partition: Partition) -> None:
        """The partition has got another log, which may be damaged and keep it from leading."""
        topic = self._image.topics_by_id.get(partition.topic_id)
        image = None if topic is None else topic.partition(partition.index)
        if image is not None:
            self._take_role(partition, image)
            self._notify_roles([partition])

    # Following the metadata

    async def on_change(self, delta: ImageDelta, config: BrokerConfig) -> None:
        """Act on a change; done when this returns. The next change waits for that."""
        async with self._one_change:
            await self._follow(delta, config)

    async def _follow(self, delta: ImageDelta, config: BrokerConfig) -> None:
        self._image = delta.after
        await self._drop((topic, p.index) for topic in delta.topics_deleted for p in topic.partitions)
        if delta.topics_deleted:
            await self._try_checkpoint()
        new: list[Replica] = []
        unopened: list[Replica] = []
        moved: list[tuple[TopicImage, int]] = []
        async for piece in in_turns((*delta.partitions_created, *delta.partitions_changed)):
            changed_roles: list[Partition] = []
            for topic, partition in piece:
                hosted = self._partitions.get((topic.name, partition.index))
                before = delta.previous(topic, partition.index)
                if self._node_id not in partition.replicas:
                    moved.append((topic, partition.index))
                elif hosted is None:
                    # A log that was here before and is not open may be offline, and must not be created
                    # again.
                    is_new = before is None or self._node_id not in before.replicas
                    (new if is_new else unopened).append((topic, partition))
                elif self._has_roles:
                    # With the role and not after it: a smaller in-sync set may come with a larger minimum.
                    hosted.min_insync_replicas = _min_insync_replicas(topic, config)
                    self._take_role(hosted, partition)
                    changed_roles.append(hosted)
            # Before others are opened, which may take a while: followers of a new leader are waited for.
            self._notify_roles(changed_roles)
        await self._drop(moved)
        await self._opening.open(new, config, self._host, new=True)
        await self._opening.open(unopened, config, self._host)
        broker_settings_changed = config is not self._config
        self._config = config
        changed = {c.name for c in delta.configs_changed if c.kind is ResourceKind.TOPIC}
        async for names in in_turns(delta.after.topics if broker_settings_changed else changed):
            self._configure(names)

    def _notify_roles(self, partitions: list[Partition]) -> None:
        if partitions and self._has_roles and self.on_roles is not None:
            self.on_roles(partitions)

    async def catch_up(self, metadata: MetadataService) -> None:
        """Apply what changed while the logs were being opened, before changes were delivered here."""
        await self.on_change(diff(self._image, metadata.image), metadata.config)

    def _configure(self, names: Iterable[str]) -> None:
        for name in names:
            topic = self._image.topics[name]
            settings = resolve_topic(topic.configs, self._config)
            for_logs = log_config(topic, self._config)
            for image in topic.partitions:
                partition = self._partitions.get((name, image.index))
                if partition is not None:
                    partition.log.configure(for_logs)
                    partition.min_insync_replicas = settings.int("min.insync.replicas")
                    partition.sync.durability = Durability(settings.text("durability"))
                    partition.advance()

    async def _drop(self, gone: Iterable[tuple[TopicImage, int]]) -> None:
        async for piece in in_turns(gone):
            for topic, index in piece:
                self._release(topic, index)
            await self._dropping.rename([(topic.id, index) for topic, index in piece])

    def _release(self, topic: TopicImage, index: int) -> None:
        for key in ((topic.name, index), (topic.id, index)):
            self._by_key.pop(key, None)
            self._any_by_key.pop(key, None)
            self._unusable.pop(key, None)
        self._without_space.pop((topic.id, index), None)
        partition = self._partitions.pop((topic.name, index), None)
        if partition is None:
            return
        self.traffic.leave(partition.traffic)
        self._notify_roles([partition])
        gone = topic.id not in self._image.topics_by_id
        partition.leave(
            KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic was deleted")
            if gone
            else KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the partition was moved to other brokers")
        )
        partition.log.close(clean=False)
        self._flusher.forget(partition)  # a topic of the same name may soon have files of the same name

    def failed_log_dirs(self) -> list[Uuid]:
        """Log dirs with a log that a disk error took offline, and those whose disk failed as a whole."""
        found: dict[Uuid, None] = dict.fromkeys(self.log_dirs.offline_ids)
        # Heartbeats and scrapes ask, and nearly always there is none.
        offline = [one for one in self._partitions.values() if one.log.health.offline is not None]
        for partition in offline:
            if not partition.log.is_short:
                log_dirs = (log_dir for log_dir in self.log_dirs if log_dir.holds(partition.log.directory))
                found.update((log_dir.known_id, None) for log_dir in log_dirs if log_dir.known_id is not None)
        return list(found)

    def fail_log_dir(self, log_dir: LogDir, error: OSError) -> None:
        """The log dir is gone, or read-only: its logs may go on in files that no start finds again."""
        log_dir.fail(error)
        here = self._in(log_dir)
        log.critical(
            "log dir %s is offline with %d partitions: %s. Other brokers lead them if they can. Mount it "
            "again, or repair its disk, then restart this broker",
            *(log_dir.path, len(here), error),
        )
        for partition in here:
            if partition.log.health.offline is None:
                partition.log.health.offline = error
            partition.release_all(refusals.offline(partition))

    def damaged(self) -> set[tuple[Uuid, int]]:
        """Those that lost records which another replica may have, or cannot be written where another can."""
        hanging = [log_dir for log_dir in self.log_dirs if log_dir.hangs]
        found = {
            (one.topic_id, one.index)
            for one in self
            if one.log.lost is not None
            or (
                (
                    one.log.is_short
                    or one.log.health.reserve.is_refusing
                    or any(log_dir.holds(one.log.directory) for log_dir in hanging)
                )
                and self._is_dispensable(one.topic_id, one.index)
            )
        }
        return found | {key for key in self._without_space if self._is_dispensable(*key)}

    def _is_dispensable(self, topic_id: Uuid, index: int) -> bool:
        """Another replica has all that this one has, so that it need not lead, or be waited for."""
        topic = self._image.topics_by_id.get(topic_id)
        image = None if topic is None else topic.partition(index)
        return image is not None and any(node != self._node_id for node in image.isr)

    def steady(self) -> AbstractAsyncContextManager[None]:
        """Inside, no change of the metadata is acted on: no log is opened or dropped."""
        return self._one_change

    @property
    def without_space(self) -> bool:
        return bool(self._without_space)

    async def open_those_without_space(self) -> None:
        async with self._one_change:
            for new in (True, False):
                replicas = [
                    (topic, image)
                    for (topic_id, index), is_new in self._without_space.items()
                    if is_new is new
                    and (topic := self._image.topics_by_id.get(topic_id)) is not None
                    and (image := topic.partition(index)) is not None
                ]
                await self._opening.open(replicas, self._config, self._host, new=new, again=True)

    # Checkpoints and the end

    async def checkpoint(self) -> None:
        """Checkpoint, for each log dir, the recovery points and start offsets of its logs.

        OSError if that failed for a log dir; the others are written anyway.
        """
        failure: OSError | None = None
        async with self._one_checkpoint:
            for log_dir in self.log_dirs:
                if log_dir.offline is None:
                    try:
                        await self._run_in_thread(log_dir.checkpoint(self._in(log_dir)))
                    except OSError as error:
                        failure = error
        if failure is not None:
            raise failure

    async def _try_checkpoint(self) -> None:
        """Before a topic of the same name may begin, it must not be remembered where the old one ended."""
        try:
            await self.checkpoint()
        except OSError as error:
            log.error("the checkpoints cannot be written: %s", error)

    def checkpoint_now(self) -> bool:
        """At once: before an append to a truncated log.

        Returns whether every log dir was written.
        """
        is_written = True
        for log_dir in self.log_dirs:
            if log_dir.offline is None:
                try:
                    log_dir.checkpoint(self._in(log_dir))()
                except OSError as error:
                    log.error("the checkpoint of %s cannot be written: %s", log_dir.path, error)
                    is_written = False
        return is_written

    def watch_syncs(self, on_synced: Callable[[str, float], None]) -> None:
        """From now on this is called with the directory of each log that was synced, and the time it took."""
        self._flusher.on_synced = on_synced

    def wake_readers(self) -> None:
        """Fetches that wait for more are answered with what there is: the broker is about to stop."""
        for partition in self:
            partition.watchers.look_again()

    async def close(self) -> None:
        """Sync and close every log; the log dirs may then be marked as clean."""
        await self._dropping.close()
        for partition in self:
            partition.release_all(KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the broker is stopping"))
            if partition.log.offline is None and partition.log.synced_end < partition.log.end:
                self._flusher.request(partition)
        await self._flusher.drain()
        for log_dir in self.log_dirs:
            if log_dir.offline is None:
                here = self._in(log_dir)
                chunks = [here[first : first + CHUNK] for first in range(0, len(here), CHUNK)]
                in_order = await asyncio.gather(
                    *(self._run_in_thread(partial(_close_logs, chunk)) for chunk in chunks)
                )
                await self._run_in_thread(partial(log_dir.logs_are_closed, here, in_order=all(in_order)))

    def _in(self, log_dir: LogDir) -> list[Partition]:
        return [p for p in self if log_dir.holds(p.log.directory)]


def _min_insync_replicas(topic: TopicImage, config: BrokerConfig) -> int:
    found = topic_setting("min.insync.replicas", topic.configs, config)
    return found if isinstance(found, int) else 1


def _close_logs(partitions: Iterable[Partition]) -> bool:
    """Whether all were closed cleanly; a log that was not must be scanned at the next start."""
    in_order = True
    for partition in partitions:
        try:
            partition.log.close(clean=True)
        except Exception as error:
            in_order = False
            log.error("%s-%d was not closed cleanly: %s", partition.topic, partition.index, error)
        in_order = in_order and partition.log.offline is None
    return in_order


def _report_recovery(topic: str, index: int, opened: PartitionLog) -> None:
    for loss in opened.recovery.losses:
        log.error("%s-%d: %s", topic, index, loss)
    for line in opened.recovery.lines()[len(opened.recovery.losses) :]:
        log.warning("%s-%d: %s", topic, index, line)
