"""Opening the logs of many partitions in threads: neither a start nor a large topic may stop the loop."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from tidelog.base.config.config import BrokerConfig, resolve_topic
from tidelog.base.errors import KafkaError, StorageError, TidelogError
from tidelog.base.ids import Epoch, NodeId
from tidelog.base.ports import Clock
from tidelog.broker.log_dirs.flusher import BUSY_SECONDS, RunInThread
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.broker.log_dirs.recovery_progress import RecoveryProgress
from tidelog.metadata.image.entities import PartitionImage, TopicImage
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.shortages import is_shortage

CHUNK = 32
"""Logs that one job opens where each takes about a millisecond."""
PROGRESS_SECONDS = 5.0

Replica = tuple[TopicImage, PartitionImage]


class Unopened(NamedTuple):
    """A log that cannot be used."""

    why: str
    is_shortage: bool
    """Of space or file descriptors: it is opened later."""
    is_new: bool
    """It was created just now: it may begin in any log dir."""


Opened = PartitionLog | Unopened

log = logging.getLogger("tidelog.broker.partitions")


def log_config(topic: TopicImage, config: BrokerConfig) -> LogConfig:
    settings = resolve_topic(topic.configs, config)
    expiration = config.int("producer.id.expiration.ms")
    parsed = LogConfig.from_topic({**settings, "producer.id.expiration.ms": expiration})
    return replace(parsed, is_replicated=topic.replication_factor > 1)


class LogOpening:
    def __init__(self, node_id: NodeId, log_dirs: LogDirs, clock: Clock, run_in_thread: RunInThread) -> None:
        self._node_id = node_id
        self._log_dirs = log_dirs
        self._clock = clock
        self._run_in_thread = run_in_thread
        self.recovery: RecoveryProgress | None = None
        """While logs are checked after an unclean shutdown."""
        self.recovered_logs = 0

    async def open(
        self,
        replicas: Sequence[Replica],
        config: BrokerConfig,
        host: Callable[[Replica, Opened], None],
        *,
        new: bool = False,
        again: bool = False,
    ) -> None:
        """Open or create each log; `host` is called on the loop for each.

        `new`: these were created just now, so one that is in no log dir we can look into is in none at all.
        `again`: it failed before, and the reason is logged.
        """
        for first in range(0, len(replicas), CHUNK):
            chunk = replicas[first : first + CHUNK]
            opened = await self._in_thread(partial(self._open_some, chunk, config, new, again))
            for replica, result in zip(chunk, opened, strict=True):
                host(replica, result)

    async def recover(
        self, replicas: Sequence[Replica], config: BrokerConfig, host: Callable[[Replica, Opened], None]
    ) -> None:
        """After an unclean shutdown: check what was not known to be synced, and log the progress."""
        threads = max(1, config.int("num.recovery.threads.per.data.dir")) * len(self._log_dirs)
        room = asyncio.Semaphore(threads)
        began = logged_at = self._clock.monotonic()
        progress = self.recovery = RecoveryProgress(len(replicas))

        async def one(replica: Replica) -> None:
            nonlocal logged_at
            async with room:
                [opened] = await self._in_thread(partial(self._open_some, [replica], config, False, False))
            host(replica, opened)
            progress.checked_logs += 1
            if not isinstance(opened, Unopened):
                progress.scanned_bytes += opened.recovery.scanned_bytes
            now = self._clock.monotonic()
            if now - logged_at >= PROGRESS_SECONDS:
                logged_at = now
                log.info("%s", progress.text())

        try:
            await asyncio.gather(*map(one, replicas))
        finally:
            self.recovery = None
            self.recovered_logs = progress.checked_logs
        if replicas:
            log.warning(
                "unclean shutdown: checked the unsynced part of %d logs, %.1f MB, in %.2f s",
                len(replicas),
                progress.scanned_bytes / 1e6,
                self._clock.monotonic() - began,
            )

    async def begin_epochs(self, led: Sequence[tuple[PartitionLog, Epoch]]) -> None:
        """This broker is about to lead these: what costs a file each is done in threads."""
        behind = [(opened, epoch) for opened, epoch in led if opened.leader_epochs.latest < epoch]
        for first in range(0, len(behind), CHUNK):
            await self._in_thread(partial(_begin_epochs, behind[first : first + CHUNK]))

    async def _in_thread(self, job: Callable[[], list[Opened]]) -> list[Opened]:
        """The topic is decided on, so its logs must be opened, however many jobs wait for the disk."""
        while True:
            try:
                opening = self._run_in_thread(job)
            except TidelogError as error:
                log.warning("logs cannot be opened yet: %s", error)
                await asyncio.sleep(BUSY_SECONDS)
                continue
            opened: list[Opened] = await opening
            return opened

    def _open_some(
        self, replicas: Sequence[Replica], config: BrokerConfig, new: bool, again: bool
    ) -> list[Opened]:
        return [self._open_one(topic, partition, config, new, again) for topic, partition in replicas]

    def _open_one(
        self, topic: TopicImage, partition: PartitionImage, config: BrokerConfig, new: bool, again: bool
    ) -> Opened:
        index = partition.index
        try:
            is_damaged = partition.waits_for_repair_of(self._node_id)
            log_dir = self._log_dirs.log_dir_for(
                topic.name, topic.id, index, may_be_new=new, is_damaged=is_damaged
            )
            log_dir.check_descriptors(self._log_dirs.files_max)
            settings = log_config(topic, config)
            is_synced_first = _is_synced_first(topic, config)
            opened = log_dir.open_log(
                topic.name,
                topic.id,
                index,
                settings,
                now_ms=self._clock.now_ms(),
                is_new=new,
                is_synced_first=is_synced_first,
            )
            if new and partition.leader == self._node_id:
                opened.begin_epoch(partition.leader_epoch)  # writes a file, so better here than on the loop
            if opened.recovery_point < opened.end and is_synced_first:
                _sync(opened)
            return opened
        except (OSError, StorageError, KafkaError) as error:
            level = logging.DEBUG if again else logging.ERROR
            log.log(level, "%s-%d cannot be opened and is offline: %s", topic.name, index, error)
            return Unopened(f"{topic.name}-{index} cannot be opened: {error}", is_shortage(error), new)


def _begin_epochs(led: Sequence[tuple[PartitionLog, Epoch]]) -> list[Opened]:
    for opened, epoch in led:
        try:
            opened.begin_epoch(epoch)
        except KafkaError as error:
            log.error("%s", error.message)
    return []


def _is_synced_first(topic: TopicImage, config: BrokerConfig) -> bool:
    return resolve_topic(topic.configs, config).text("durability") == "fsync"


def _sync(opened: PartitionLog) -> None:
    """Consumers may have read what a crash left unsynced: it must not seem lost, not for a moment."""
    flush = opened.begin_flush()
    if flush is not None:
        flush.run()
        opened.finish_flush(flush)
