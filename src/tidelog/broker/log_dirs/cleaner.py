"""Compacts logs in the background: chooses the filthiest, has it cleaned in a thread, takes in the result.

What goes wrong with one partition is logged and remembered, and the others go on. Nothing that happens
before a result is taken in can harm a log.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import KafkaError, TidelogError
from tidelog.base.ports import Clock
from tidelog.broker.log_dirs.cleaner_throttle import CleanerThrottle, CompactionStopped
from tidelog.broker.log_dirs.cleaning_job import CleaningJob
from tidelog.broker.log_dirs.counters import LogCounters
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.replication import refusals
from tidelog.replication.partition import Partition
from tidelog.storage.compaction.cleanable import CleanableRange
from tidelog.storage.log import PartitionLog
from tidelog.storage.segment_deletion import SegmentDeletion

RETRY_SECONDS = 60.0
"""After a disk error, such as a full disk: an operator may have made room by then."""

log = logging.getLogger("tidelog.broker.cleaner")


class LogCleaner:
    def __init__(
        self,
        partitions: Iterable[Partition],
        clock: Clock,
        config: Callable[[], BrokerConfig],
        run_in_thread: RunInThread,
        counters: LogCounters | None = None,
    ) -> None:
        """`partitions` is asked again each time: those that are on this broker then."""
        self._partitions = partitions
        self._clock = clock
        self._config = config
        self._run_in_thread = run_in_thread
        self._counters = counters or LogCounters()
        self._throttle = CleanerThrottle(clock)
        self._jobs: dict[asyncio.Task[None], CleaningJob] = {}
        self._uncleanable: dict[PartitionLog, str] = {}
        self._retry_at: dict[PartitionLog, float] = {}
        self._removals: dict[SegmentDeletion, asyncio.TimerHandle] = {}
        self._closed = False

    @property
    def uncleanable(self) -> dict[tuple[str, int], str]:
        """The partitions that are not compacted any more until a restart, and why."""
        return {
            (partition.topic, partition.index): self._uncleanable[partition.log]
            for partition in self._partitions
            if partition.log in self._uncleanable
        }

    async def clean_once(self) -> bool:
        """Compact all that is due, the filthiest first. False if there was nothing."""
        config = self._config()
        if self._closed or not config.bool("log.cleaner.enable"):
            return False
        self._forget_deleted()
        threads = config.int("log.cleaner.threads")
        key_bytes_max = config.int("log.cleaner.dedupe.buffer.size") // threads
        self._throttle.bytes_per_second = config.float("log.cleaner.io.max.bytes.per.second")
        seen: set[PartitionLog] = set()
        try:
            while not self._closed:
                while len(self._jobs) < threads and (chosen := self._choose(seen)) is not None:
                    self._start(*chosen, key_bytes_max, seen)
                if not self._jobs:
                    break
                await asyncio.wait(self._jobs, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await self._stop_jobs()
        return bool(seen)

    async def close(self) -> None:
        """Stop what is under way and wait for it. Segments that await their removal go at the next start."""
        self._closed = True
        await self._stop_jobs()
        for handle in self._removals.values():
            handle.cancel()
        self._removals.clear()

    async def _stop_jobs(self) -> None:
        for job in self._jobs.values():
            job.stop.set()
        while self._jobs:
            await asyncio.wait(self._jobs)

    def _start(
        self, partition: Partition, cleanable: CleanableRange, key_bytes_max: int, seen: set[PartitionLog]
    ) -> None:
        job = CleaningJob(
            partition,
            cleanable,
            key_bytes_max,
            clock=self._clock,
            throttle=self._throttle,
            run_in_thread=self._run_in_thread,
            is_hosted=lambda wanted: any(here is wanted for here in self._partitions),
            on_deletions=self._remove_later,
        )
        seen.add(job.log)
        task = asyncio.get_running_loop().create_task(self._run(job), name=f"compaction of {job.name}")
        self._jobs[task] = job

        def finished(task: asyncio.Task[None]) -> None:
            del self._jobs[task]
            if job.is_unfinished:
                seen.discard(job.log)

        task.add_done_callback(finished)

    async def _run(self, job: CleaningJob) -> None:
        began, counters = self._clock.monotonic(), self._counters
        try:
            await job.run()
            counters.cleaned_logs += 1
            counters.cleaner_freed_bytes += job.freed_bytes
        except Exception as error:
            self._handle_failure(job, error)
        counters.cleaner_seconds += self._clock.monotonic() - began
        counters.cleaner_read_bytes += job.read_bytes

    def _choose(self, seen: set[PartitionLog]) -> tuple[Partition, CleanableRange] | None:
        """The partition with the largest part of dirt among those that are due."""
        now_ms, now = self._clock.now_ms(), self._clock.monotonic()
        # A deleted topic that was created again has the directory of the old one, whose job may still run.
        busy = {job.log.directory for job in self._jobs.values()}
        best: tuple[Partition, CleanableRange] | None = None
        dirty_ratio_max = 0.0
        for partition in self._partitions:
            candidate = partition.log
            if (
                not candidate.config.compact
                or candidate.offline is not None
                or candidate.compaction.copies_under_way
                or candidate in seen
                or candidate in self._uncleanable
                or candidate.directory in busy
                or self._retry_at.get(candidate, now) > now
            ):
                continue
            try:
                cleanable = candidate.compaction.cleanable(
                    min(partition.high_watermark, partition.last_stable_offset), now_ms
                )
            except (KafkaError, OSError) as error:
                self._give_up(partition, candidate, f"its segments cannot be read: {error}")
                continue
            dirty_ratio_max = max(dirty_ratio_max, cleanable.ratio)
            if cleanable.is_due(candidate.config) and (best is None or cleanable.ratio > best[1].ratio):
                best = partition, cleanable
        self._counters.dirty_ratio_max = dirty_ratio_max
        self._counters.uncleanable_logs = len(self._uncleanable)
        return best

    def _forget_deleted(self) -> None:
        here = {partition.log for partition in self._partitions}
        for gone in [known for known in self._uncleanable if known not in here]:
            del self._uncleanable[gone]
        for gone in [known for known in self._retry_at if known not in here]:
            del self._retry_at[gone]

    def _handle_failure(self, job: CleaningJob, error: Exception) -> None:
        """Handle a failed job. After a truncation of the log any error may follow."""
        partition, its_log = job.partition, job.log
        if isinstance(error, CompactionStopped) or not job.is_wanted():
            return
        if its_log.offline is not None:
            log.error("%s: its log went offline during compaction: %s", job.name, its_log.offline)
            partition.release_all(refusals.offline(partition))
        elif job.is_stale():
            log.info("%s: its log was truncated during compaction; trying again", job.name)
        elif isinstance(error, KafkaError):
            self._give_up(partition, its_log, error.message)
        elif isinstance(error, OSError | TidelogError):  # a full disk, or disk threads that cannot follow
            log.warning("compaction of %s failed; trying again in a minute: %s", job.name, error)
            self._retry_at[its_log] = self._clock.monotonic() + RETRY_SECONDS
        else:
            log.error("compaction of %s failed with an internal error", job.name, exc_info=error)
            self._give_up(partition, its_log, repr(error))

    def _give_up(self, partition: Partition, its_log: PartitionLog, why: str) -> None:
        self._uncleanable[its_log] = why
        log.error(
            "%s-%d will not be compacted until a restart, and will grow: %s",
            partition.topic,
            partition.index,
            why,
        )

    def _remove_later(self, deletions: Iterable[SegmentDeletion]) -> None:
        now_ms = self._clock.now_ms()
        for segment in deletions:
            delay = max(0, segment.remove_at_ms - now_ms) / 1000
            self._removals[segment] = asyncio.get_running_loop().call_later(delay, self._remove, segment)

    def _remove(self, deletion: SegmentDeletion) -> None:
        def report(future: "asyncio.Future[None]") -> None:
            if not future.cancelled() and (error := future.exception()) is not None:
                log.warning("removing segments that compaction replaced failed: %s", error)

        del self._removals[deletion]
        self._run_in_thread(deletion.run).add_done_callback(report)
