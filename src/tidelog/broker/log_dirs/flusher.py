"""Group commit: while one sync of a log is under way, every append that arrives waits for the next one.

Syncing runs in disk threads, one sync per log at a time, so a hundred waiting requests cost one fdatasync.
"""

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from tidelog.base.errors import KafkaError, TidelogError
from tidelog.replication.partition import Partition
from tidelog.storage.flush import Flush
from tidelog.storage.log import PartitionLog

SYNCS_MAX = 64
"""Logs whose sync may be under way or queued for a thread at once; the others wait here, for free."""

QUIET_SYNCS_MAX = 2
"""Of these, logs without new records, such as those of a thousand new partitions: no request waits for
them."""

BUSY_SECONDS = 0.1
"""How long to wait where so many jobs wait for the disk threads that they take no more."""

SLOW_MAX = 1000
"""Slow syncs that are remembered until they are looked at."""

RunInThread = Callable[[Callable[[], Any]], "asyncio.Future[Any]"]

log = logging.getLogger("tidelog.broker.flusher")


class Flusher:
    def __init__(self, run_in_thread: RunInThread) -> None:
        self._run_in_thread = run_in_thread
        self._waiting: dict[Partition, None] = {}
        self._quiet: dict[Partition, None] = {}
        """As `_waiting`, but only for the names and sizes of files."""
        self._syncing: dict[Partition, float] = {}
        """Since when."""
        self._removed: set[Partition] = set()
        """Of these, partitions that were removed since."""
        self.slow_seconds = math.inf
        """Syncs that take longer are kept for `take_slow`."""
        self.postponed = 0
        """Syncs that had no file descriptor, and were tried again."""
        self._slow: deque[tuple[str, float]] = deque(maxlen=SLOW_MAX)
        self.on_synced: Callable[[str, float], None] | None = None
        """Called with the directory of a log and the time of its sync, where metrics are served."""
        self._quiet_syncing = 0
        self._idle: asyncio.Event = asyncio.Event()
        self._idle.set()
        self._scheduled = False
        self.has_sealed = False
        """Since this was last taken back, a segment was synced for good: worth writing down."""

    def request(self, partition: Partition) -> None:
        """Sync this partition's log soon. Asking again before that is free."""
        if partition.log.recovery_point < partition.log.end:
            self._waiting[partition] = None
            self._quiet.pop(partition, None)
        elif partition not in self._waiting:
            self._quiet[partition] = None
        self._idle.clear()
        if not self._scheduled:
            # At the end of the loop's turn: every request of this turn shares the sync.
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._start)

    def forget(self, partition: Partition) -> None:
        """The partition was removed: a sync that has not started is not needed any more."""
        self._waiting.pop(partition, None)
        self._quiet.pop(partition, None)
        if partition in self._syncing:
            self._removed.add(partition)
        self._update_idle()

    async def drain(self) -> None:
        """Wait until nothing is left to sync."""
        await self._idle.wait()

    def _start(self) -> None:
        self._scheduled = False
        for partition in self._next():
            is_quiet = partition in self._quiet
            del (self._quiet if is_quiet else self._waiting)[partition]
            try:
                flush = partition.log.begin_flush()
            except KafkaError as error:
                self._failed(partition, error)
                continue
            if flush is None:
                partition.advance()
                continue
            try:
                future = self._run_in_thread(flush.run)
            except TidelogError as error:
                log.warning("%s-%d cannot be synced yet: %s", partition.topic, partition.index, error)
                (self._quiet if is_quiet else self._waiting)[partition] = None
                self._scheduled = True
                asyncio.get_running_loop().call_later(BUSY_SECONDS, self._start)
                break
            self._syncing[partition] = asyncio.get_running_loop().time()
            self._quiet_syncing += is_quiet
            future.add_done_callback(partial(self._finished, partition, partition.log, flush, is_quiet))
        self._update_idle()

    def _next(self) -> list[Partition]:
        """Those whose turn it is, and no more of them than there is room for, however many wait."""
        room = SYNCS_MAX - len(self._syncing)
        free = (partition for partition in self._waiting if partition not in self._syncing)
        found = list(islice(free, max(0, room)))
        room = min(room - len(found), QUIET_SYNCS_MAX - self._quiet_syncing)
        free = (partition for partition in self._quiet if partition not in self._syncing)
        return found + list(islice(free, max(0, room)))

    def _finished(
        self,
        partition: Partition,
        synced: PartitionLog,
        flush: Flush,
        is_quiet: bool,
        future: "asyncio.Future[None]",
    ) -> None:
        began = self._syncing.pop(partition)
        is_removed = partition in self._removed
        self._removed.discard(partition)
        seconds = asyncio.get_running_loop().time() - began
        if self.on_synced is not None:
            self.on_synced(synced.directory, seconds)
        if seconds > self.slow_seconds:
            self._slow.append((synced.directory, seconds))
        self._quiet_syncing -= is_quiet
        if flush.is_postponed:
            self._postpone(partition, is_needed=synced is partition.log and not is_removed)
            return
        try:
            future.result()
            synced.finish_flush(flush)
            self.has_sealed = self.has_sealed or flush.seals
        except KafkaError as error:
            if synced is partition.log:
                self._failed(partition, error)
            else:  # it was moved, and the directory of its old log may be gone
                log.info("%s-%d has left a log that %s", partition.topic, partition.index, error.message)
        else:
            partition.advance()
        if (self._waiting or self._quiet) and not self._scheduled:
            self._start()
        self._update_idle()

    def oldest(self) -> list[tuple[str, float]]:
        """Returns the directory of each log that is being synced, with its time so far, the longest last."""
        now = asyncio.get_running_loop().time()
        ages = [(partition.log.directory, now - began) for partition, began in self._syncing.items()]
        return sorted(ages, key=lambda age: age[1])

    def take_slow(self) -> list[tuple[str, float]]:
        """Returns the directories and times of slow syncs since the last call."""
        slow = list(self._slow)
        self._slow.clear()
        return slow

    def _postpone(self, partition: Partition, *, is_needed: bool) -> None:
        """No descriptor was free: try again soon."""
        if not self.postponed:
            log.error(
                "%s-%d cannot be synced: too many open files; trying again. Raise the limit (ulimit -n)",
                *(partition.topic, partition.index),
            )
        self.postponed += 1
        if is_needed:
            self._waiting[partition] = None
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_later(BUSY_SECONDS, self._start)
        self._update_idle()

    def _update_idle(self) -> None:
        if not self._waiting and not self._quiet and not self._syncing:
            self._idle.set()

    def _failed(self, partition: Partition, error: KafkaError) -> None:
        """After a failed sync the state of the disk is unknown: the log is offline, and waiting requests
        fail."""
        log.error("%s-%d: syncing its log failed: %s", partition.topic, partition.index, error.message)
        partition.release_all(error)
