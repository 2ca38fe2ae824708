"""Group commit: while one sync of a log is under way, every append that arrives waits for the next one.

Syncing runs in disk threads, one sync per log at a time, so a hundred waiting requests cost one fdatasync.
Several logs that wait at the same time share one sync of their log dir's journal, see `shared_syncs`.
"""

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import chain, islice
from typing import Any

from tidelog.base.errors import KafkaError, TidelogError
from tidelog.broker.log_dirs.shared_syncs import SharedSync, SharedSyncs
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.flush import Flush
from tidelog.storage.journal.journal import Journal
from tidelog.storage.log import PartitionLog

SYNCS_MAX = 64
"""Logs whose own sync may be under way or queued for a thread at once; the others wait here, for free."""

QUIET_SYNCS_MAX = 2
"""Of these, logs without new records, such as those of a thousand new partitions: no request waits for
them."""

BUSY_SECONDS = 0.1
"""How long to wait where so many jobs wait for the disk threads that they take no more."""

SLOW_MAX = 1000
"""Slow syncs that are remembered until they are looked at."""

RunInThread = Callable[[Callable[[], Any]], "asyncio.Future[Any]"]

FSYNC = Durability.FSYNC

log = logging.getLogger("tidelog.broker.flusher")


class Flusher:
    def __init__(self, run_in_thread: RunInThread) -> None:
        self._run_in_thread = run_in_thread
        self._waiting: dict[Partition, None] = {}
        self._quiet: dict[Partition, None] = {}
        """As `_waiting`, but only for the names and sizes of files."""
        self._for_journal: dict[Partition, None] = {}
        """Logs whose own files must be synced, so that the journal can go on; no request waits for them."""
        self._shared = SharedSyncs()
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
        self._shared_syncing = 0
        """Logs whose sync is one of a journal: however many there are, they take one thread."""
        self._idle: asyncio.Event = asyncio.Event()
        self._idle.set()
        self._scheduled = False
        self.has_sealed = False
        """Since this was last taken back, a segment was synced for good: worth writing down."""

    def request(self, partition: Partition) -> None:
        """Sync this partition's log soon. Asking again before that is free."""
        log_here = partition.log
        if log_here.synced_end < log_here.end:
            journal = log_here.journal
            if journal is not None and journal.failure is None and partition.sync.durability is FSYNC:
                self._shared.add(partition, journal)
            else:
                self._waiting[partition] = None
            self._quiet.pop(partition, None)
        elif partition not in self._waiting:
            self._quiet[partition] = None
        self._idle.clear()
        self._soon()  # at the end of the loop's turn: every request of this turn shares the sync

    def forget(self, partition: Partition) -> None:
        """The partition was removed: a sync that has not started is not needed any more."""
        self._waiting.pop(partition, None)
        self._quiet.pop(partition, None)
        self._for_journal.pop(partition, None)
        self._shared.forget(partition)
        if partition in self._syncing:
            self._removed.add(partition)
        self._update_idle()

    async def drain(self) -> None:
        """Wait until nothing is left to sync."""
        await self._idle.wait()

    def _start(self) -> None:
        self._scheduled = False
        self._start_shared()
        for partition in self._next():
            queue = self._queue_of(partition)
            is_quiet = queue is not self._waiting
            del queue[partition]
            self._for_journal.pop(partition, None)
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
                queue[partition] = None
                self._later()
                break
            self._syncing[partition] = asyncio.get_running_loop().time()
            self._quiet_syncing += is_quiet
            future.add_done_callback(partial(self._finished, partition, partition.log, flush, is_quiet))
        if self._has_more and not self._syncing:
            self._soon()  # none of these needed a sync, so no end of one makes room for the others
        self._update_idle()

    @property
    def _has_more(self) -> bool:
        return bool(self._waiting or self._quiet or self._for_journal or self._shared)

    def _queue_of(self, partition: Partition) -> dict[Partition, None]:
        if partition in self._waiting:
            return self._waiting
        return self._quiet if partition in self._quiet else self._for_journal

    def _soon(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._start)

    def _later(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_later(BUSY_SECONDS, self._start)

    # Syncs that several logs share

    def _start_shared(self) -> None:
        """One write for each journal; those that cannot take part are synced on their own."""
        shared = self._shared
        if not shared:
            return
        for journal in shared.ready():
            if shared.is_patient(journal):
                self._soon()
                continue
            begun, alone = shared.begin(journal, self._syncing)
            self._waiting.update(dict.fromkeys(alone))
            if begun is not None:
                began = asyncio.get_running_loop().time()
                self._syncing.update(dict.fromkeys(begun.partitions, began))
                self._shared_syncing += len(begun.parts)
                self._run_shared(begun)
            else:
                self._for_journal.update(dict.fromkeys(shared.logs_to_sync(journal)))
            if journal.wants_file:
                self._create_file(journal)

    def _run_shared(self, begun: SharedSync) -> None:
        loop = asyncio.get_running_loop()
        try:
            future = self._run_in_thread(begun.write.run)
        except TidelogError as error:
            log.warning("the journal of %s cannot be synced yet: %s", begun.journal.path, error)
            loop.call_later(BUSY_SECONDS, self._run_shared, begun)
            return
        future.add_done_callback(partial(self._shared_finished, begun))

    def _shared_finished(self, begun: SharedSync, future: "asyncio.Future[None]") -> None:
        future.result()
        now = asyncio.get_running_loop().time()
        is_durable = self._shared.finish(begun)
        self._shared_syncing -= len(begun.parts)
        for partition, synced, journaled in begun.parts:
            began = self._syncing.pop(partition, now)
            is_removed = partition in self._removed
            self._removed.discard(partition)
            if is_removed:
                continue  # a log that has left its directory asks for no sync more: see `_finished`
            if is_durable:
                self._note_time(synced.directory, now - began)
                synced.finish_journaling(journaled)
                partition.advance()
            else:
                self._waiting[partition] = None
        self._for_journal.update(dict.fromkeys(self._shared.logs_to_sync(begun.journal)))
        if not self._scheduled:
            self._start()
        self._update_idle()

    def _create_file(self, journal: Journal) -> None:
        try:
            future = self._run_in_thread(journal.create())
        except TidelogError:
            journal.created(None)
            return
        future.add_done_callback(lambda done: journal.created(done.result()))

    # Syncs of one log

    def _next(self) -> list[Partition]:
        """Those whose turn it is, and no more of them than there is room for, however many wait."""
        room = SYNCS_MAX - len(self._syncing) + self._shared_syncing
        free = (partition for partition in self._waiting if partition not in self._syncing)
        found = list(islice(free, max(0, room)))
        room = min(room - len(found), QUIET_SYNCS_MAX - self._quiet_syncing)
        if room <= 0:
            return found
        queued = chain(self._quiet, (one for one in self._for_journal if one not in self._quiet))
        free = (one for one in queued if one not in self._syncing and one not in self._waiting)
        return found + list(islice(free, room))

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
        self._note_time(synced.directory, asyncio.get_running_loop().time() - began)
        self._quiet_syncing -= is_quiet
        if flush.is_postponed:
            self._postpone(partition, is_needed=synced is partition.log and not is_removed)
            return
        future.result()
        if not is_removed:  # else its directory is gone, or has files of another topic of that name
            self._conclude(partition, synced, flush)
        if self._has_more and not self._scheduled:
            self._start()
        self._update_idle()

    def _conclude(self, partition: Partition, synced: PartitionLog, flush: Flush) -> None:
        try:
            synced.finish_flush(flush)
            self.has_sealed = self.has_sealed or flush.seals
        except KafkaError as error:
            if synced is partition.log:
                self._failed(partition, error)
            else:  # it was moved, and the directory of its old log may be gone
                log.info("%s-%d has left a log that %s", partition.topic, partition.index, error.message)
        else:
            partition.advance()

    def _note_time(self, directory: str, seconds: float) -> None:
        if self.on_synced is not None:
            self.on_synced(directory, seconds)
        if seconds > self.slow_seconds:
            self._slow.append((directory, seconds))

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
        self._later()
        self._update_idle()

    def _update_idle(self) -> None:
        if not self._has_more and not self._syncing:
            self._idle.set()

    def _failed(self, partition: Partition, error: KafkaError) -> None:
        """After a failed sync the state of the disk is unknown: the log is offline, and waiting requests
        fail."""
        log.error("%s-%d: syncing its log failed: %s", partition.topic, partition.index, error.message)
        partition.release_all(error)
