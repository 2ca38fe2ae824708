"""One replica of a partition, whoever leads it: its log, how far that may be read, and who waits for more.

What may be read is what cannot be taken back: every in-sync replica has it. Under durability `fsync` they
have it synced, so that no consumer ever sees a record that a power cut could still remove.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH, Epoch, NodeId, Offset, Uuid
from tidelog.metadata.image.entities import NO_LEADER
from tidelog.replication.acks_waiters import AcksWaiters, Done
from tidelog.replication.followers import Position
from tidelog.storage.log import PartitionLog


class Durability(Enum):
    FSYNC = "fsync"  # an acks=all answer and the high watermark wait for the disk
    INTERVAL = "interval"  # synced every durability.interval.ms; acknowledged before
    OS = "os"  # the page cache decides


class FetchWatcher(Protocol):
    def on_bytes(self, count: int) -> None:
        """So many bytes more may be read; 0 when something else changed (the log went offline or away)."""
        ...


class Replica:
    __slots__ = (
        "_acks",
        "_append_watchers",
        "_held",
        "_hidden",
        "_limits",
        "_on_unsynced",
        "_sync_waiters",
        "_unsynced_since",
        "_watchers",
        "durability",
        "elr",
        "high_watermark",
        "index",
        "is_leader",
        "isr",
        "leader_epoch",
        "leader_id",
        "log",
        "min_insync_replicas",
        "node_id",
        "partition_epoch",
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
        node_id: NodeId,
        durability: Durability,
        min_insync_replicas: int,
        on_unsynced: Callable[[Any], None],
        high_watermark: Offset | None = None,
    ) -> None:
        """A follower of nobody. `high_watermark` as it was when this was last open, if that is known."""
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.node_id = node_id
        self.leader_id: NodeId = NO_LEADER
        self.is_leader = False
        self.leader_epoch: Epoch = NO_EPOCH
        self.partition_epoch: Epoch = NO_EPOCH
        self.replicas: tuple[NodeId, ...] = ()
        self.isr: tuple[NodeId, ...] = ()
        self.elr: tuple[NodeId, ...] = ()
        self.durability = durability
        self.min_insync_replicas = min_insync_replicas
        self._on_unsynced = on_unsynced
        self._acks = AcksWaiters()
        self._held = AcksWaiters()  # those who do not mind that too few are in sync to take more
        self._sync_waiters: list[Callable[[], None]] = []
        # Appends above the high watermark, as (end offset, bytes): what a watcher will be told about.
        self._hidden: deque[tuple[Offset, int]] = deque()
        self._watchers: dict[FetchWatcher, None] = {}
        self._append_watchers: dict[FetchWatcher, None] = {}
        self._unsynced_since: float | None = None
        known = log.start if high_watermark is None else high_watermark
        synced_end = log.recovery_point if durability is Durability.FSYNC else log.end
        self.high_watermark: Offset = max(log.start, min(known, synced_end))
        # Whoever else the high watermark waits for: a leader's followers, or what a follower's leader says.
        self._limits: tuple[Position, ...] = (Position(self.high_watermark),)

    def __repr__(self) -> str:
        role = "leads" if self.is_leader else f"follows {self.leader_id}"
        offsets = f"{self.log.start}..{self.high_watermark}..{self.log.end}"
        return f"<Partition {self.topic}-{self.index} {role} in epoch {self.leader_epoch}, {offsets}>"

    # The high watermark

    @property
    def last_stable_offset(self) -> Offset:
        """Below it every transaction is decided for good."""
        first = self.log.first_unstable(self.high_watermark)
        return self.high_watermark if first is None or first > self.high_watermark else first

    @property
    def is_synced(self) -> bool:
        """Whether all that is written is as durable as the topic asks for."""
        if self.durability is not Durability.FSYNC:
            return True
        return self.log.recovery_point >= self.log.end and not self.log.has_unsynced_files

    @property
    def committed_here(self) -> Offset:
        """Up to here the log is committed, and on this disk as durable as the topic asks for."""
        is_synced_first = self.durability is Durability.FSYNC
        return min(self.high_watermark, self.log.recovery_point) if is_synced_first else self.high_watermark

    def advance(self) -> None:
        """Move the high watermark as far as log, durability and the others allow, and tell who waits."""
        log = self.log
        safe = log.end
        if self.durability is Durability.FSYNC and log.recovery_point < safe:
            safe = log.recovery_point
            self._on_unsynced(self)
        elif self._sync_waiters:
            self._sync_or_tell()
        for limit in self._limits:
            safe = min(safe, limit.end)
        if safe <= self.high_watermark:
            return
        if len(self.isr) < self.min_insync_replicas and self.is_leader and not self.has_enough_in_sync:
            # The controller counts on it (KIP-966): whoever left the set by now has all that was readable.
            self._held.resolve(safe)
            return
        self.high_watermark = safe
        if log.producers.ended:  # a follower has nobody who asks what is stable: forget it here
            log.producers.forget_ended(safe)
        if self._acks.queue:
            self._acks.resolve(safe)
        if self._held.queue:
            self._held.resolve(safe)
        fresh = 0
        hidden = self._hidden
        while hidden and hidden[0][0] <= safe:
            fresh += hidden.popleft()[1]
        if self._watchers:
            for watcher in tuple(self._watchers):
                watcher.on_bytes(fresh)

    def _written(self, count: int) -> None:
        """So many bytes were appended to the log."""
        log = self.log
        self._hidden.append((log.end, count))
        self.advance()
        if self._append_watchers:
            for watcher in tuple(self._append_watchers):
                watcher.on_bytes(count)
        if log.has_rolled or log.end - log.recovery_point >= log.config.flush_messages:
            # A sealed segment is synced whatever the durability: after a crash only the rest is read.
            log.has_rolled = False
            self._on_unsynced(self)

    @property
    def is_trusted(self) -> bool:
        """Whether the controller counts on this replica to have all that was acknowledged."""
        return self.node_id in self.isr or self.node_id in self.elr

    @property
    def needed_in_sync(self) -> int:
        """For acks=all. No more than there are replicas, as in Kafka: else nothing could ever be written."""
        return min(self.min_insync_replicas, len(self.replicas))

    @property
    def has_enough_in_sync(self) -> bool:
        return len(self.isr) >= self.needed_in_sync

    # Syncing

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

    def when_synced(self, done: Callable[[], None]) -> bool:
        """True if `is_synced`; else `done` is called once, when it is worth while to look again."""
        if self.is_synced or self.log.offline is not None:
            return True
        self._sync_waiters.append(done)
        self._on_unsynced(self)
        return False

    def _sync_or_tell(self) -> None:
        if self.is_synced:
            self._tell_sync_waiters()
        else:
            self._on_unsynced(self)

    def _tell_sync_waiters(self) -> None:
        waiters, self._sync_waiters = self._sync_waiters, []
        for done in waiters:
            done()

    # Those who wait

    def forget(self, done: Done) -> None:
        """One who waited for safety gave up (its time is over, or its connection is gone)."""
        self._acks.forget(done)
        self._held.forget(done)

    def release_all(self, error: KafkaError) -> None:
        """The log is offline, the partition is going away or has another leader: nobody may wait on."""
        self._acks.fail_all(error)
        self._held.fail_all(error)
        self._tell_sync_waiters()
        self.notify(0)

    def watch(self, watcher: FetchWatcher) -> None:
        """Tell a consumer of what it may read: what lies below the high watermark."""
        self._watchers[watcher] = None

    def watch_appends(self, watcher: FetchWatcher) -> None:
        """Tell a follower of what it may read: everything, as soon as it is written."""
        self._append_watchers[watcher] = None

    def unwatch(self, watcher: FetchWatcher) -> None:
        self._watchers.pop(watcher, None)
        self._append_watchers.pop(watcher, None)

    def notify(self, count: int) -> None:
        """Tell consumers that so many bytes may be read; 0: everybody look again, whatever there is."""
        for watcher in tuple(self._watchers):
            watcher.on_bytes(count)
        if not count:
            for watcher in tuple(self._append_watchers):
                watcher.on_bytes(0)

    # Refusals

    def offline_error(self) -> KafkaError:
        what = "takes no more records, make room on the disk" if self.log.is_full else "is offline"
        return KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"{self.topic}-{self.index} {what} after a disk error: {self.log.offline}",
        )

    def not_leader_error(self) -> KafkaError:
        leader = "nobody leads it" if self.leader_id == NO_LEADER else f"broker {self.leader_id} leads it"
        return KafkaError(
            ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.topic}-{self.index}: {leader} since {self.leader_epoch}"
        )

    def check_leader(self) -> None:
        if not self.is_leader:
            raise self.not_leader_error()

    def check_epoch(self, epoch: Epoch) -> None:
        """Refuse a client or a follower whose metadata is older or newer than ours."""
        if epoch < 0 or epoch == self.leader_epoch:
            return
        if epoch < self.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH)
