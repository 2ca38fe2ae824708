"""One partition as its leader sees it: appends in, a high watermark out, and who waits for it.

What may be read is what cannot be taken back. Under durability `fsync` the high watermark follows the
synced end, so that no consumer ever sees a record that a power cut could still remove.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple, Protocol

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, NodeId, Offset, TimestampMs, Uuid
from tidelog.storage.admission import admit
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_writer import Batches
from tidelog.wire.batch import TRANSACTIONAL, read_header


class Durability(Enum):
    FSYNC = "fsync"  # an acks=all answer and the high watermark wait for the disk
    INTERVAL = "interval"  # synced every durability.interval.ms; acknowledged before
    OS = "os"  # the page cache decides


class Produced(msgspec.Struct, frozen=True, gc=False):
    base_offset: Offset
    append_time_ms: TimestampMs  # -1 where the producer's own time is kept
    safe_at: Offset  # acks=all is owed once the high watermark reaches this


class FetchWatcher(Protocol):
    def on_bytes(self, count: int) -> None:
        """So many bytes more may be read; 0 when something else changed (the log went offline or away)."""
        ...


class AcksWaiter(NamedTuple):
    safe_at: Offset
    done: Callable[[KafkaError | None], None]


class Partition:
    __slots__ = (
        "_acks_waiters",
        "_hidden",
        "_on_unsynced",
        "_unsynced_since",
        "_watchers",
        "durability",
        "high_watermark",
        "index",
        "isr",
        "leader_epoch",
        "log",
        "min_insync_replicas",
        "replicas",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        topic: str,
        topic_id: Uuid,
        index: int,
        log: PartitionLog,
        *,
        leader_epoch: Epoch,
        replicas: tuple[NodeId, ...],
        isr: tuple[NodeId, ...],
        durability: Durability,
        min_insync_replicas: int,
        on_unsynced: Callable[["Partition"], None],
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.leader_epoch = leader_epoch
        self.replicas = replicas
        self.isr = isr
        self.durability = durability
        self.min_insync_replicas = min_insync_replicas
        self._on_unsynced = on_unsynced
        self._acks_waiters: deque[AcksWaiter] = deque()
        # Appends above the high watermark, as (end offset, bytes): what a watcher will be told about.
        self._hidden: deque[tuple[Offset, int]] = deque()
        self._watchers: dict[FetchWatcher, None] = {}
        self._unsynced_since: float | None = None
        self.high_watermark: Offset = self._safe_end()
        if self.high_watermark < log.end:
            self._hidden.append((log.end, 0))
            on_unsynced(self)

    def __repr__(self) -> str:
        return (
            f"<Partition {self.topic}-{self.index} {self.log.start}..{self.high_watermark}..{self.log.end}>"
        )

    @property
    def last_stable_offset(self) -> Offset:
        """Below it every transaction is decided."""
        return self.high_watermark

    # Writing

    def produce(self, records: memoryview, *, all_replicas: bool, now_ms: TimestampMs) -> Produced:
        """Validate and append a client's batch, or answer a retry with where it was written before."""
        log = self.log
        if log.offline is not None:
            raise self.offline_error()
        if all_replicas and len(self.isr) < self.min_insync_replicas:
            raise self._too_few_replicas()
        admitted = admit(records, log.config, now_ms=now_ms)
        if admitted.batches[0][1].attributes & TRANSACTIONAL:
            # Nobody coordinates transactions here, so nobody would ever end the one that this batch opens.
            raise KafkaError(
                ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                "a transactional batch, and this broker does not offer transactions",
            )
        return self._append(admitted.records, admitted.batches, now_ms)

    def append_own(self, batch: bytearray, *, now_ms: TimestampMs) -> Produced:
        """A batch that this broker made itself, such as a coordinator's; safe as with acks=all."""
        if self.log.offline is not None:
            raise self.offline_error()
        if len(self.isr) < self.min_insync_replicas:
            raise self._too_few_replicas()
        return self._append(memoryview(batch), [(0, read_header(batch))], now_ms)

    def _append(self, records: memoryview, batches: Batches, now_ms: TimestampMs) -> Produced:
        log = self.log
        try:
            appended = log.append(records, batches, leader_epoch=self.leader_epoch, now_ms=now_ms)
        except KafkaError:
            if log.offline is not None:
                self.release_all(self.offline_error())
            raise
        if not appended.duplicate:
            self._hidden.append((log.end, len(records)))
            self.advance()
            if log.has_rolled or log.end - log.recovery_point >= log.config.flush_messages:
                # A sealed segment is synced whatever the durability: after a crash only the rest is read.
                log.has_rolled = False
                self._on_unsynced(self)
        return Produced(appended.base, appended.append_time_ms, appended.last + 1)

    def _too_few_replicas(self) -> KafkaError:
        return KafkaError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            f"{len(self.isr)} of {len(self.replicas)} replicas are in sync, "
            f"min.insync.replicas is {self.min_insync_replicas}",
        )

    def when_safe(self, offset: Offset, done: Callable[[KafkaError | None], None]) -> bool:
        """True if everything below `offset` is safe now; else `done` is called once it is, or can't be.

        KafkaError where it can never be: nothing more becomes safe on a log that is offline.
        """
        if offset <= self.high_watermark:
            return True
        if self.log.offline is not None:
            raise self.offline_error()
        # A retried batch may ask for less than what others wait for already: keep the queue in order.
        waiters = self._acks_waiters
        waiter = AcksWaiter(offset, done)
        place = len(waiters)
        while place and waiters[place - 1].safe_at > offset:
            place -= 1
        waiters.insert(place, waiter)
        return False

    def forget(self, done: Callable[[KafkaError | None], None]) -> None:
        """The waiter gave up (its time is over, or its connection is gone)."""
        self._acks_waiters = deque(waiter for waiter in self._acks_waiters if waiter.done is not done)

    # The high watermark

    def _safe_end(self) -> Offset:
        return self.log.recovery_point if self.durability is Durability.FSYNC else self.log.end

    def advance(self) -> None:
        """Move the high watermark as far as the log and its durability allow, and tell who waits."""
        log = self.log
        safe = log.end
        if self.durability is Durability.FSYNC and log.recovery_point < safe:
            safe = log.recovery_point
            self._on_unsynced(self)
        if safe <= self.high_watermark:
            return
        self.high_watermark = safe
        waiters = self._acks_waiters
        while waiters and waiters[0].safe_at <= safe:
            waiters.popleft().done(None)
        fresh = 0
        hidden = self._hidden
        while hidden and hidden[0][0] <= safe:
            fresh += hidden.popleft()[1]
        if self._watchers:
            self.notify(fresh)

    def sync_is_due(self, now: float) -> bool:
        """Asked every now and then: has something been unsynced for longer than the topic's `flush.ms`?"""
        flush_ms = self.log.config.flush_ms
        if self.log.recovery_point >= self.log.end or self.log.offline is not None:
            self._unsynced_since = None
            return False
        if self._unsynced_since is None:
            self._unsynced_since = now
        is_due = (now - self._unsynced_since) * 1000 >= flush_ms
        if is_due:
            self._unsynced_since = None  # the sync is asked for now; what comes later counts from then on
        return is_due

    def offline_error(self) -> KafkaError:
        return KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"{self.topic}-{self.index} is offline after a disk error: {self.log.offline}",
        )

    def release_all(self, error: KafkaError) -> None:
        """The log is offline or the partition is going away: nobody may wait on."""
        waiters, self._acks_waiters = self._acks_waiters, deque()
        for waiter in waiters:
            waiter.done(error)
        self.notify(0)

    # Readers that wait for more

    def watch(self, watcher: FetchWatcher) -> None:
        self._watchers[watcher] = None

    def unwatch(self, watcher: FetchWatcher) -> None:
        self._watchers.pop(watcher, None)

    def notify(self, count: int) -> None:
        """Tell those who wait for more that so many bytes arrived; 0: look again, whatever there is."""
        for watcher in tuple(self._watchers):
            watcher.on_bytes(count)

    # Fencing

    def check_epoch(self, epoch: Epoch) -> None:
        """Refuse a client whose metadata is older or newer than ours."""
        if epoch < 0 or epoch == self.leader_epoch:
            return
        if epoch < self.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH)
