"""One partition on this broker: its log, and the role that the metadata give this replica.

The parts own their state: `mark` the high watermark and its waiters, `watchers` the fetches that wait for
records, `sync` how durable the log must be. `leader` exists while this replica leads; `follower` copies
from another broker while that leads. Here are the role, and what clients do at a leader: append, and wait.
"""

import logging
from collections.abc import Callable

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH, Epoch, NodeId, Offset, TimestampMs, Uuid
from tidelog.metadata.image.entities import NO_LEADER, PartitionImage
from tidelog.replication import refusals
from tidelog.replication.acks_waiters import Done
from tidelog.replication.divergence import divergence
from tidelog.replication.fetch_watchers import FetchWatcher, FetchWatchers
from tidelog.replication.follower import FetchPosition, Follower, Truncation
from tidelog.replication.high_watermark import HighWatermark
from tidelog.replication.leader import Leader
from tidelog.replication.leadership import CommittedIsr, IsrProposal
from tidelog.replication.log_sync import FSYNC, Durability, LogSync
from tidelog.replication.read_limit import (
    HIGH_WATERMARK,
    LAST_STABLE_OFFSET,
    REPLICATED_END,
    ReadLimit,
)
from tidelog.replication.traffic import TopicTraffic
from tidelog.storage.admission import admit
from tidelog.storage.log import Batches, PartitionLog
from tidelog.storage.producers.verification import VerificationGuard
from tidelog.wire.batch import CONTROL, TRANSACTIONAL, read_header

__all__ = [
    "CommittedIsr",
    "Durability",
    "FetchPosition",
    "FetchWatcher",
    "IsrProposal",
    "Partition",
    "Produced",
    "Truncation",
]

logger = logging.getLogger("tidelog.replication")


class Produced(msgspec.Struct, frozen=True, gc=False):
    base_offset: Offset
    append_time_ms: TimestampMs  # -1 where the producer's own time is kept
    committed_at: Offset  # acks=all is owed once the high watermark reaches this


class Partition:
    __slots__ = (
        "__weakref__",
        "_on_unsynced",
        "elr",
        "follower",
        "index",
        "is_leader",
        "isr",
        "leader",
        "leader_epoch",
        "leader_id",
        "log",
        "mark",
        "min_insync_replicas",
        "node_id",
        "partition_epoch",
        "replicas",
        "sync",
        "topic",
        "topic_id",
        "traffic",
        "watchers",
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
        on_unsynced: Callable[["Partition"], None],
        high_watermark: Offset | None = None,
        traffic: TopicTraffic | None = None,
    ) -> None:
        """A follower without a leader until `apply` gives it a role.

        `high_watermark` as it was when the partition was last open, if that is known.
        """
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.node_id = node_id
        self.log = log
        """Replaced when the replica moves to another log dir, or its disk has room again."""
        self.leader_id: NodeId = NO_LEADER
        self.leader_epoch: Epoch = NO_EPOCH
        self.partition_epoch: Epoch = NO_EPOCH
        self.replicas: tuple[NodeId, ...] = ()
        self.isr: tuple[NodeId, ...] = ()
        self.elr: tuple[NodeId, ...] = ()
        self.min_insync_replicas = min_insync_replicas
        self._on_unsynced = on_unsynced
        """Asks for a sync of the log, soon."""
        self.sync = LogSync(durability)
        self.watchers = FetchWatchers()
        self.traffic = traffic or TopicTraffic(topic)
        committed = log.start if high_watermark is None else high_watermark
        self.mark = HighWatermark(max(log.start, min(committed, self.sync.durable_end(log))), self.watchers)
        self.is_leader = False
        self.leader: Leader | None = None
        self.follower = Follower(self)

    def __repr__(self) -> str:
        role = "leads" if self.is_leader else f"follows {self.leader_id}"
        offsets = f"{self.log.start}..{self.high_watermark}..{self.log.end}"
        return f"<Partition {self.topic}-{self.index} {role} in epoch {self.leader_epoch}, {offsets}>"

    # The role

    def apply(self, image: PartitionImage, now: float) -> None:
        """Take over the controller's decision. Ignores one that is older than the current state."""
        if (image.partition_epoch, image.leader_epoch) < (self.partition_epoch, self.leader_epoch):
            return
        is_new_epoch = image.leader_epoch != self.leader_epoch
        # Not so where the controller's own answer brought the change before the metadata do.
        is_change = image.partition_epoch != self.partition_epoch
        self.partition_epoch, self.leader_epoch = image.partition_epoch, image.leader_epoch
        self.leader_id, self.replicas = image.leader, image.replicas
        self.isr, self.elr = image.isr, image.elr
        if image.leader != self.node_id or self.log.lost is not None:
            # A leader that misses what its followers have would make them truncate it, too.
            if is_new_epoch or self.is_leader:
                self.is_leader, self.leader = False, None
                self.follower.begin()
            self.follower.truncate_at_lost()
        elif self.leader is None or is_new_epoch:
            self._begin_leading(now)
        else:
            self.leader.update(now, is_change=is_change)

    def _begin_leading(self, now: float) -> None:
        try:
            self.log.begin_epoch(self.leader_epoch)
        except KafkaError as error:
            logger.error("%s-%d: %s", self.topic, self.index, error.message)
        self.leader = Leader(self, now)
        self.is_leader = True
        self.leader.count()
        self.sync.notify()
        self.watchers.look_again()

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

    # How far the log is committed, and synced

    @property
    def high_watermark(self) -> Offset:
        return self.mark.offset

    @property
    def last_stable_offset(self) -> Offset:
        """Below it every transaction is decided for good."""
        high_watermark = self.mark.offset
        first = self.log.first_unstable(high_watermark)
        return high_watermark if first is None or first > high_watermark else first

    @property
    def high_watermark_is_current(self) -> bool:
        """A new leader cannot say where the readable log ends before its followers reported their ends."""
        return self.leader is not None and self.mark.offset >= self.leader.epoch_start

    @property
    def committed_here(self) -> Offset:
        """Up to here the log is committed, and on this disk as durable as the topic asks for."""
        return min(self.mark.offset, self.sync.durable_end(self.log))

    def advance(self) -> None:
        """Move the high watermark as far as log, durability and the other replicas allow."""
        log, sync = self.log, self.sync
        end = log.end
        if sync.durability is FSYNC and log.synced_end < end:
            end = log.synced_end
            self._on_unsynced(self)
        elif sync.waiters:
            if sync.is_synced(log):
                sync.notify()
            else:
                self._on_unsynced(self)
        too_few = len(self.isr) < self.min_insync_replicas and self.is_leader and not self.has_enough_in_sync
        self.mark.advance(end, log.producer_state.producers, too_few)

    def appended(self, count: int) -> None:
        """`count` bytes were appended to the log."""
        log, watchers = self.log, self.watchers
        watchers.uncommitted.append((log.end, count))
        self.advance()
        if watchers.followers:
            watchers.appended(count)
        if log.writer.has_rolled or log.end - log.synced_end >= log.config.flush_messages:
            # A sealed segment is synced whatever the durability: after a crash only the rest is read.
            log.writer.has_rolled = False
            self._on_unsynced(self)

    @property
    def is_synced(self) -> bool:
        return self.sync.is_synced(self.log)

    def when_synced(self, done: Callable[[], None]) -> bool:
        """True if `is_synced`; else `done` is called once, when it is worth while to look again."""
        if self.is_synced or self.log.offline is not None:
            return True
        self.sync.waiters.append(done)
        self._on_unsynced(self)
        return False

    # Writing

    def produce(
        self,
        records: memoryview,
        *,
        all_replicas: bool,
        now_ms: TimestampMs,
        in_transaction: bool = False,
        guard: VerificationGuard | None = None,
        schemas_checked: bool = False,
    ) -> Produced:
        """Validate and append a client's batch, or answer a retry with the offsets of its first time.

        `guard`: under which the coordinator verified that this partition is part of the batch's transaction.
        Raises SchemasNotChecked, and has done nothing, where the topic asks for a check of schemas.
        """
        log = self.log
        health = log.health
        if health.offline is not None or health.reserve.is_refusing or not self.is_leader:
            self._check_accepts()
        if all_replicas and len(self.isr) < self.needed_in_sync:
            raise refusals.too_few_in_sync(self)
        admitted = admit(records, log.config, now_ms=now_ms, schemas_checked=schemas_checked)
        header = admitted.batches[0][1]
        if header.attributes & TRANSACTIONAL:
            if not in_transaction:
                raise KafkaError(
                    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                    "a transactional batch in a request without a transactional id",
                )
            if (
                log.producer_state.find_retry(header) is None
            ):  # else it is a retry, of a transaction that may be over
                log.producer_state.check_verified(header, guard)
        return self._append(admitted.records, admitted.batches, now_ms)

    def append_own(self, batch: bytearray, *, now_ms: TimestampMs) -> Produced:
        """Append a batch of this broker itself, such as a coordinator's; committed as with acks=all."""
        self.check_writable()
        if len(self.isr) < self.needed_in_sync:
            raise refusals.too_few_in_sync(self)
        return self._append(memoryview(batch), [(0, read_header(batch))], now_ms)

    def _append(self, records: memoryview, batches: Batches, now_ms: TimestampMs) -> Produced:
        log = self.log
        try:
            appended = log.append(records, batches, leader_epoch=self.leader_epoch, now_ms=now_ms)
        except KafkaError:
            if log.offline is not None:
                self.release_all(refusals.offline(self))
            raise
        if not appended.duplicate:
            size, traffic = len(records), self.traffic
            traffic.received_bytes += size
            if not batches[0][1].attributes & CONTROL:
                traffic.received_records += appended.last + 1 - appended.base
            self.appended(size)
        return Produced(appended.base, appended.append_time_ms, appended.last + 1)

    # Waiting

    def when_committed(self, offset: Offset, done: Done) -> bool:
        """True if everything below `offset` is committed; else `done` is called once it is, or cannot be.

        KafkaError where it can never be: on a log that is offline, or under another leader.
        """
        if self.is_leader and offset <= self.mark.offset:
            return True
        self.check_writable()
        self.mark.acks.add(offset, done)
        return False

    def when_replicated(self, offset: Offset, done: Done) -> bool:
        """As `when_committed`, but it is enough that all replicas in sync have it, however few they are.

        For readers: replicas too few to take more can still serve what they all have.
        """
        if self.is_leader and (offset <= self.mark.offset or self._is_replicated(offset)):
            return True
        self.check_writable()
        self.mark.replication.add(offset, done)
        return False

    def _is_replicated(self, offset: Offset) -> bool:
        if self.has_enough_in_sync:
            return False
        return offset <= self.sync.durable_end(self.log) and self.mark.limits_reach(offset)

    @property
    def written_end(self) -> Offset:
        """Where the readable log ends once the leader's disk has all that is written.

        While followers count, too, or are too few, a sync alone moves nothing: it is where it ends now. On a
        log that is offline it stays there.
        """
        is_alone = self.is_leader and not self.mark.limits and self.has_enough_in_sync
        return self.log.end if is_alone and self.log.offline is None else self.mark.offset

    def forget(self, done: Done) -> None:
        self.mark.forget(done)

    def release_all(self, error: KafkaError) -> None:
        """The log is offline, the partition is going away or has another leader: every wait ends."""
        self.mark.fail_all(error)
        self.sync.notify()
        self.watchers.look_again()

    def leave(self, error: KafkaError) -> None:
        """The partition is gone from this broker: it leads no more, and is not repaired, whatever still knows
        of it."""
        self.is_leader, self.leader = False, None
        self.isr = self.elr = ()
        self.release_all(error)

    # Reading

    def readable_end(self, limit: ReadLimit) -> Offset:
        if limit is HIGH_WATERMARK:
            return self.mark.offset
        if limit is LAST_STABLE_OFFSET:
            return self.last_stable_offset
        if limit is REPLICATED_END and self.has_enough_in_sync:
            return self.mark.offset
        return self.log.end

    def divergence(self, last_epoch: Epoch, offset: Offset) -> tuple[Epoch, Offset] | None:
        """Not None: a reader that asks for `offset` has records that are not in this log."""
        return divergence(self.log, last_epoch, offset)

    # Refusals

    def check_leader(self) -> None:
        if not self.is_leader:
            raise refusals.not_leader(self)

    def check_writable(self) -> None:
        if self.log.offline is not None:
            raise refusals.offline(self)
        self.check_leader()

    def _check_accepts(self) -> None:
        """As `check_writable`, for records of clients: these must leave a reserve of free space."""
        self.check_writable()
        reserve = self.log.health.reserve
        if reserve.is_refusing:
            reserve.refused_requests += 1
            raise refusals.no_space(self)

    def check_epoch(self, epoch: Epoch) -> None:
        """Refuse a client or a follower whose metadata is older or newer than ours."""
        if epoch < 0 or epoch == self.leader_epoch:
            return
        if epoch < self.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH)
