"""One partition on this broker: leads or follows as the metadata say.

The leader's side is here: appends in, acknowledgements out, and the in-sync set. The follower's side is in
`following`, what both have in common in `replica`.
"""

import logging
from collections.abc import Callable

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_OFFSET, Epoch, NodeId, Offset, TimestampMs, Uuid
from tidelog.metadata.image.entities import PartitionImage
from tidelog.replication.acks_waiters import Done
from tidelog.replication.divergence import divergence
from tidelog.replication.followers import FollowerProgress
from tidelog.replication.following import FetchPosition, Following, Truncation
from tidelog.replication.leadership import NOT_COMMITTED, CommittedIsr, IsrProposal, Leadership
from tidelog.replication.replica import Durability, FetchWatcher
from tidelog.storage.admission import admit
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_writer import Batches
from tidelog.storage.producers.verification import VerificationGuard
from tidelog.wire.batch import TRANSACTIONAL, read_header

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


class Partition(Following):
    __slots__ = ("_leadership",)

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
    ) -> None:
        """A follower of nobody until `apply` gives it a role."""
        super().__init__(
            topic,
            topic_id,
            index,
            log,
            node_id=node_id,
            durability=durability,
            min_insync_replicas=min_insync_replicas,
            on_unsynced=on_unsynced,
            high_watermark=high_watermark,
        )
        self._leadership: Leadership | None = None

    # The role

    def apply(self, image: PartitionImage, now: float) -> None:
        """What the controller has decided. News that are older than what is known have no effect."""
        if (image.partition_epoch, image.leader_epoch) < (self.partition_epoch, self.leader_epoch):
            return
        is_new_epoch = image.leader_epoch != self.leader_epoch
        # Not so where the controller's own answer told of the change before the metadata do.
        is_change = image.partition_epoch != self.partition_epoch
        self.partition_epoch, self.leader_epoch = image.partition_epoch, image.leader_epoch
        self.leader_id, self.replicas = image.leader, image.replicas
        self.isr, self.elr = image.isr, image.elr
        if image.leader != self.node_id or self.log.lost is not None:
            # A leader that misses what its followers have would make them cut it off, too.
            self._leadership = None
            if is_new_epoch or self.is_leader:
                self._begin_following()
            self._truncate_at_lost()
        elif self._leadership is None or is_new_epoch:
            self._begin_leading(now)
        else:
            self._leadership.assign(self.replicas, now)
            if is_change:
                self._leadership.commit(self.isr)
            self._count()

    def _begin_leading(self, now: float) -> None:
        """Nothing is known of the followers in this epoch, so the high watermark stays until they fetch."""
        try:
            self.log.begin_epoch(self.leader_epoch)
        except KafkaError as error:
            logger.error("%s-%d: %s", self.topic, self.index, error.message)
        epochs = self.log.leader_epochs
        began_at = epochs.latest_start if epochs.latest == self.leader_epoch else self.log.end
        self._leadership = Leadership(self.node_id, began_at, self.replicas, self.isr, now)
        self.is_leader = True
        self._count()
        self._tell_sync_waiters()
        self.notify(0)

    def _count(self) -> None:
        """Other followers may count from now on."""
        if self._leadership is not None:
            self._limits = self._leadership.counted
            self.advance()

    def _led(self) -> Leadership:
        if self.log.offline is not None:
            raise self.offline_error()
        if self._leadership is None:
            raise self.not_leader_error()
        return self._leadership

    @property
    def high_watermark_is_current(self) -> bool:
        """A new leader cannot say where the readable log ends before its followers told how far they are."""
        return self._leadership is not None and self.high_watermark >= self._leadership.epoch_start

    # Writing

    def produce(
        self,
        records: memoryview,
        *,
        all_replicas: bool,
        now_ms: TimestampMs,
        in_transaction: bool = False,
        guard: VerificationGuard | None = None,
    ) -> Produced:
        """Validate and append a client's batch, or answer a retry with where it was written before.

        `guard`: under which the coordinator said that this partition is part of the batch's transaction.
        """
        log = self.log
        if log.offline is not None or not self.is_leader:
            self._led()
        if all_replicas and len(self.isr) < self.needed_in_sync:
            raise self._too_few_replicas()
        admitted = admit(records, log.config, now_ms=now_ms)
        header = admitted.batches[0][1]
        if header.attributes & TRANSACTIONAL:
            if not in_transaction:
                raise KafkaError(
                    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                    "a transactional batch in a request without a transactional id",
                )
            if log.find_retry(header) is None:  # else it is a retry, of a transaction that may be over
                log.check_verified(header, guard)
        return self._append(admitted.records, admitted.batches, now_ms)

    def append_own(self, batch: bytearray, *, now_ms: TimestampMs) -> Produced:
        """A batch that this broker made itself, such as a coordinator's; safe as with acks=all."""
        self._led()
        if len(self.isr) < self.needed_in_sync:
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
            self._written(len(records))
        return Produced(appended.base, appended.append_time_ms, appended.last + 1)

    def _too_few_replicas(self) -> KafkaError:
        return KafkaError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            f"{len(self.isr)} of {len(self.replicas)} replicas are in sync, "
            f"min.insync.replicas is {self.min_insync_replicas}",
        )

    def when_committed(self, offset: Offset, done: Done) -> bool:
        """True if everything below `offset` is safe now; else `done` is called once it is, or can't be.

        KafkaError where it can never be: on a log that is offline, or under another leader.
        """
        if self.is_leader and offset <= self.high_watermark:
            return True
        self._led()
        self._acks.add(offset, done)
        return False

    @property
    def written_end(self) -> Offset:
        """Where the readable log ends once the leader's disk has all that is written.

        Where followers are waited for, too, or are too few, their leader cannot say: it is where it ends now.
        On a log that is offline it stays there.
        """
        is_alone = self.is_leader and not self._limits and self.has_enough_in_sync
        return self.log.end if is_alone and self.log.offline is None else self.high_watermark

    def when_replicated(self, offset: Offset, done: Done) -> bool:
        """As `when_committed`, but it is enough that all that are in sync have it, however few they are.

        For those who only read: too few to take more can still serve what they all have.
        """
        if self.is_leader and (offset <= self.high_watermark or self._is_held(offset)):
            return True
        self._led()
        self._held.add(offset, done)
        return False

    def _is_held(self, offset: Offset) -> bool:
        if self.has_enough_in_sync:
            return False
        end = self.log.recovery_point if self.durability is Durability.FSYNC else self.log.end
        return offset <= end and all(offset <= limit.end for limit in self._limits)

    # Followers

    def readable_end(self, *, replica: bool, committed: bool = False) -> Offset:
        """Followers read all that is written; consumers what cannot be taken back, or what is decided."""
        if replica:
            return self.log.end
        return self.last_stable_offset if committed else self.high_watermark

    def divergence(self, last_epoch: Epoch, offset: Offset) -> tuple[Epoch, Offset] | None:
        """Not None: a follower that asks for `offset` has records that are not in this log."""
        return divergence(self.log, last_epoch, offset)

    def follower_fetched(
        self,
        replica: NodeId,
        broker_epoch: Epoch,
        offset: Offset,
        now: float,
        *,
        log_start: Offset = NO_OFFSET,
    ) -> bool:
        """A follower, whose epoch was checked and whose log agrees with this one, has all below `offset`.

        True: it may join the in-sync set.
        """
        # A full log is read on, so that others can have all of it.
        leadership = self._leadership if self.log.is_full else self._led()
        if leadership is None:
            raise self.not_leader_error()
        progress = leadership.follower(replica)
        if progress is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_LEADER_EPOCH, f"broker {replica} is no replica as far as is known here"
            )
        if 0 <= broker_epoch < progress.broker_epoch:
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {replica} has started again since it asked this"
            )
        if not self.log.start <= offset <= self.log.end:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        progress.broker_epoch = max(progress.broker_epoch, broker_epoch)
        progress.start = log_start
        if leadership.fetched(replica, offset, self.log.end, now):
            self._limits = leadership.counted
        self.advance()
        return leadership.proposal is None and leadership.may_join(replica, self.high_watermark)

    def follower(self, node: NodeId) -> FollowerProgress | None:
        """How far it is, as far as the leader knows."""
        return self._leadership.follower(node) if self._leadership is not None else None

    # The in-sync set

    def isr_wanted(
        self, now: float, lag_max: float, is_eligible: Callable[[NodeId], bool]
    ) -> IsrProposal | None:
        """The change that the controller should be asked for; None: none, or one is under way."""
        leadership = self._leadership
        if leadership is None or leadership.proposal is not None or self.log.offline is not None:
            return None
        in_time = leadership.in_time(self.log.end, now, lag_max)
        leadership.await_only([node for node in in_time if is_eligible(node)])
        self._count()
        wanted = tuple(node for node in self.isr if node == self.node_id or node in in_time)
        # Only now: the high watermark may just have left behind one that nobody waits for any more.
        wanted += tuple(
            node
            for node in self.replicas
            if node != self.node_id and is_eligible(node) and leadership.may_join(node, self.high_watermark)
        )
        if wanted == self.isr:
            return None
        epochs = leadership.broker_epochs(wanted)
        return IsrProposal(wanted, epochs, self.leader_epoch, self.partition_epoch)

    def isr_proposed(self, proposal: IsrProposal) -> bool:
        """It is about to be sent: from now on those who may be in the set count as if they were.

        False: it has become wrong since it was made, and must not be sent.
        """
        leadership = self._leadership
        epochs = proposal.leader_epoch, proposal.partition_epoch
        if leadership is None or leadership.proposal is not None:
            return False
        if epochs != (self.leader_epoch, self.partition_epoch):
            return False
        joining = (node for node in proposal.isr if node not in self.isr)
        if not all(leadership.may_join(node, self.high_watermark) for node in joining):
            return False
        leadership.proposal = proposal
        self._limits = leadership.counted
        return True

    def is_pending(self, proposal: IsrProposal) -> bool:
        """False once its fate is known: then there is no point in sending it again."""
        return self._leadership is not None and self._leadership.proposal == proposal

    def isr_answered(
        self, proposal: IsrProposal, error: ErrorCode | None, committed: CommittedIsr | None = None
    ) -> None:
        """What the controller said. A late answer has no effect: the metadata were faster."""
        leadership = self._leadership
        if leadership is None or leadership.proposal != proposal:
            return
        if error is None:
            # The metadata may bring a larger min.insync.replicas first: the controller counted with that, and
            # takes those who left, or have left before, for eligible leaders. So a smaller set waits for it,
            # and so does a larger one while there are eligible leaders.
            if (
                committed is not None
                and not self.elr
                and committed.leader_epoch == self.leader_epoch
                and committed.partition_epoch > self.partition_epoch
                and set(committed.isr).issuperset(self.isr)
            ):
                self.isr, self.partition_epoch = committed.isr, committed.partition_epoch
                leadership.commit(self.isr)
        elif error in NOT_COMMITTED:
            leadership.drop_proposal()
        self._count()
