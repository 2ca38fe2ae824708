"""The compaction of one partition, from the plan to the last group of segments that is taken in.

Reading and writing happen in a thread; the log is touched on the loop only, between two steps of the thread.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from tidelog.base.ports import Clock
from tidelog.broker.log_dirs.cleaner_throttle import CleanerThrottle, CompactionStopped
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.replication.partition import Partition
from tidelog.storage.compaction.cleanable import CleanableRange
from tidelog.storage.compaction.compaction import Compaction
from tidelog.storage.compaction.groups import Source
from tidelog.storage.segment_deletion import SegmentDeletion

LOOK_SECONDS = 1.0
"""How often to see whether the partition is still there."""

T = TypeVar("T")

log = logging.getLogger("tidelog.broker.cleaner")


class CleaningJob:
    def __init__(
        self,
        partition: Partition,
        cleanable: CleanableRange,
        key_bytes_max: int,
        *,
        clock: Clock,
        throttle: CleanerThrottle,
        run_in_thread: RunInThread,
        is_hosted: Callable[[Partition], bool],
        on_deletions: Callable[[Iterable[SegmentDeletion]], None],
    ) -> None:
        self.partition = partition
        self.log = partition.log
        self.name = f"{partition.topic}-{partition.index}"
        self.stop = threading.Event()
        self.is_unfinished = False
        """Memory was too small for all the keys: another round is due at once."""
        self._cleanable = cleanable
        self._clock = clock
        self._throttle = throttle.of(self.stop)
        self._run_in_thread = run_in_thread
        self._is_hosted = is_hosted
        self._on_deletions = on_deletions
        self._plan: Compaction = self.log.compaction.begin(cleanable, clock.now_ms(), key_bytes_max)
        self._current: Sequence[Source] = self._plan.sources

    @property
    def read_bytes(self) -> int:
        return self._plan.bytes_before

    @property
    def freed_bytes(self) -> int:
        return self._plan.bytes_before - self._plan.bytes_after

    def is_wanted(self) -> bool:
        """Whether the partition is still here, with this log, and the log is not being copied."""
        is_its_log = self.partition.log is self.log and not self.log.compaction.copies_under_way
        return is_its_log and self._is_hosted(self.partition)

    def is_stale(self) -> bool:
        """Whether the log was truncated at either end, so that the plan is void."""
        return not self.log.compaction.holds(self._current, self._plan.truncations)

    async def run(self) -> None:
        """Raises OSError, KafkaError for damaged batches, CompactionStopped; the log is whole in any case."""
        plan = self._plan
        await self._in_thread(partial(plan.map_keys, self._throttle))
        for group in plan.groups():
            self._current = group
            cleaned = await self._in_thread(partial(plan.clean, group, self._throttle))
            if cleaned is None:
                continue
            if not self.is_wanted():
                plan.discard(group)
                raise CompactionStopped
            try:
                deletions = self.log.compaction.finish(cleaned, self._clock.now_ms())
            except OSError:
                plan.discard(group)
                raise
            if deletions is None:
                log.info("%s: its log was truncated during compaction; trying again", self.name)
                return
            self._on_deletions(deletions)
        self.log.compaction.cleaned_to = plan.end
        self.is_unfinished = plan.end < self._cleanable.end
        log.info(
            "compacted %s from offset %d to %d: %d records removed, %d bytes became %d",
            self.name,
            plan.first_dirty,
            plan.end,
            plan.records_removed,
            plan.bytes_before,
            plan.bytes_after,
        )

    async def _in_thread(self, work: Callable[[], T]) -> T:
        future: asyncio.Future[T] = self._run_in_thread(work)
        while not future.done():
            await asyncio.wait((future,), timeout=LOOK_SECONDS)
            if not self.is_wanted():
                self.stop.set()
        return future.result()
