"""Periodic work of a broker: retention, syncs, checkpoints, expiry of producers.

Each is a plain method that visits every partition once; `server.tickers` calls them by the clock.
"""

import asyncio
import logging

from tidelog.base.errors import KafkaError
from tidelog.base.ports import Clock
from tidelog.broker.log_dirs.flusher import Flusher, RunInThread
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.segment_deletion import SegmentDeletion

log = logging.getLogger("tidelog.broker.housekeeping")


class Housekeeping:
    def __init__(
        self, partitions: HostedPartitions, flusher: Flusher, clock: Clock, run_in_thread: RunInThread
    ) -> None:
        self._partitions = partitions
        self._flusher = flusher
        self._clock = clock
        self._run_in_thread = run_in_thread
        self._removals: dict[SegmentDeletion, asyncio.TimerHandle] = {}

    def retire_segments(self) -> None:
        """Retention by time, by size and by log start."""
        for partition in self._partitions:
            self._retire(partition)

    def retire_below_start(self, partition: Partition) -> None:
        """Take out the segments below the start of a log, which was just moved."""
        self._retire(partition, by_start_only=True)

    def _retire(self, partition: Partition, *, by_start_only: bool = False) -> None:
        now_ms, limit = self._clock.now_ms(), partition.high_watermark
        try:
            deletions = partition.log.retire(now_ms, limit=limit, by_start_only=by_start_only)
        except KafkaError as error:
            log.error("%s-%d: retention failed: %s", partition.topic, partition.index, error.message)
            partition.release_all(error)
            return
        counters = self._partitions.counters
        for segment in deletions:
            counters.retired_segments += 1
            counters.retired_bytes += segment.size
            delay = (segment.remove_at_ms - now_ms) / 1000
            timer = asyncio.get_running_loop().call_later(delay, self._remove, partition, segment)
            self._removals[segment] = timer

    def close(self) -> None:
        """Segments that wait for deletion are deleted at the next start."""
        for timer in self._removals.values():
            timer.cancel()
        self._removals.clear()

    def _remove(self, partition: Partition, deletion: SegmentDeletion) -> None:
        del self._removals[deletion]

        def report(future: "asyncio.Future[None]") -> None:
            if not future.cancelled() and (error := future.exception()) is not None:
                # The log no longer needs these files; the next start tries again.
                log.warning(
                    "deleting old segments of %s-%d failed: %s", partition.topic, partition.index, error
                )

        self._run_in_thread(deletion.run).add_done_callback(report)

    def sync_by_interval(self) -> None:
        """Durability `interval`: everything written so far goes to the disk."""
        for partition in self._partitions:
            if partition.sync.durability is Durability.INTERVAL and _is_unsynced(partition):
                self._flusher.request(partition)

    def sync_by_topic_rules(self) -> None:
        """`flush.ms` and `flush.messages`, where they are set."""
        now = self._clock.monotonic()
        for partition in self._partitions:
            if partition.sync.is_overdue(partition.log, now):
                self._flusher.request(partition)

    def forget_producers(self) -> None:
        now_ms = self._clock.now_ms()
        for partition in self._partitions:
            partition.log.producer_state.expire(now_ms)

    async def checkpoint(self) -> None:
        """What is known to be synced, so that a restart after a crash reads only the rest."""
        try:
            await self._partitions.checkpoint()
        except OSError as error:
            # Nothing is lost: a restart after a crash reads more than it would have to.
            log.error("the offset checkpoints cannot be written: %s", error)

    async def checkpoint_sealed(self) -> None:
        """Segments are large: what a crash would have to read again should not wait for the next minute."""
        if self._flusher.has_sealed:
            self._flusher.has_sealed = False
            await self.checkpoint()

    async def checkpoint_high_watermarks(self) -> None:
        """What is known to be committed, so that it can be read again soon after a start."""
        for log_dir in self._partitions.log_dirs:
            if log_dir.offline is None:
                here = (p for p in self._partitions if log_dir.holds(p.log.directory))
                job = log_dir.checkpoint_high_watermarks(here)
                try:
                    if job is not None:
                        await self._run_in_thread(job)
                except OSError as error:
                    log.error("the high watermarks in %s cannot be written: %s", log_dir.path, error)


def _is_unsynced(partition: Partition) -> bool:
    return partition.log.offline is None and partition.log.recovery_point < partition.log.end
