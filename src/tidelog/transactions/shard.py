"""All transactional ids of one partition of `__transaction_state`: the one door to this room.

The runtime drives it as every shard, see `tidelog.coordination.shard`. A committed decision leads to markers:
the shell takes them with `take_markers`, has them written, and calls `complete` when every partition has its
own. After a crash `on_loaded` brings them up again, whatever had been written of them: a partition takes the
same marker twice.
"""

from collections import deque
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, TypeVar

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import NO_EPOCH, Epoch, ProducerId, TimestampMs
from tidelog.base.pending import Pending
from tidelog.base.timers import Timer, Timers
from tidelog.coordination.decision import ShardDecision, StateRecord
from tidelog.transactions import beginning, ending, joining, listing
from tidelog.transactions.confirmation import NEEDS_CONFIRMATION, confirmed
from tidelog.transactions.ended import EndedTransactions
from tidelog.transactions.marker import Marker, MarkersToWrite, markers_of
from tidelog.transactions.messages import (
    AddRequest,
    DescribedTransaction,
    EndAnswer,
    EndRequest,
    InitAnswer,
    InitRequest,
    ListedTransaction,
    ListFilter,
    VerifyAnswer,
)
from tidelog.transactions.record_format import decode_key, decode_value, record_of, tombstone_of
from tidelog.transactions.settings import TransactionSettings
from tidelog.transactions.states import State
from tidelog.transactions.transaction import NO_IDENTITY, NO_TIMEOUT_MS, Transaction

AnswerT = TypeVar("AnswerT")

NOTES_MAX = 1000
EXPIRED_PER_PIECE = 1000
"""Ids that one batch of tombstones forgets: it stays small, and so does the pause for everybody else."""
PAUSE_MS = 20


class Tick:
    """One call of a timer, and the decision it leads to."""

    __slots__ = ("decision", "now", "now_ms")

    def __init__(self, now: float, now_ms: TimestampMs) -> None:
        self.now = now
        self.now_ms = now_ms
        self.decision: ShardDecision[None] | None = None


class TransactionShard:
    def __init__(
        self,
        settings: TransactionSettings,
        coordinator_epoch: Epoch = NO_EPOCH,
        ended: EndedTransactions | None = None,
    ) -> None:
        """`coordinator_epoch` is the leader epoch of the partition: markers carry it, so that those of an
        earlier coordinator are refused.
        """
        self.settings = settings
        self.transactions: dict[str, Transaction] = {}
        self.skipped = 0
        """Records of kinds that this version does not know, left alone as Kafka does."""
        self._coordinator_epoch = coordinator_epoch
        self._ended = ended or EndedTransactions()
        self._timing_out: set[str] = set()
        self._is_live = False
        self._bumped_from: dict[str, int] = {}  # soft: a new coordinator refuses such a retry, as Kafka does
        self._timers: Timers[Tick] = Timers()
        self._timeouts: dict[str, Timer[Tick]] = {}
        self._expiry = self._timers.timer(self._expire)
        self._to_mark: list[MarkersToWrite] = []
        self._notes: deque[str] = deque(maxlen=NOTES_MAX)

    # --- state that survives

    def replay(self, key: bytes, value: bytes | None) -> None:
        """Apply one record: while loading, and live right after the append."""
        transactional_id = decode_key(key)
        if transactional_id is None:
            self.skipped += 1
        elif value is None:
            self.transactions.pop(transactional_id, None)
        else:
            self.transactions[transactional_id] = decode_value(transactional_id, value)

    def on_loaded(self, now: float, now_ms: TimestampMs) -> Sequence[ShardDecision[None]]:
        """The whole partition was replayed: serve requests from here on."""
        self._is_live = True
        for transaction in self.transactions.values():
            if transaction.is_ending:
                self._to_mark.append(markers_of(transaction, self._coordinator_epoch))
            elif transaction.state is State.ONGOING:
                self._watch(transaction, now, now_ms)
        self._expiry.start(now + self.settings.expiry_check_interval_ms / 1000)
        return ()

    def unload(self) -> None:
        """This broker no longer leads the partition. The shard is of no use after that."""
        self._is_live = False
        for timer in self._timeouts.values():
            timer.cancel()
        self._expiry.cancel()
        self._to_mark.clear()
        self.transactions.clear()

    # --- decisions

    def apply(self, decision: ShardDecision[Any], now: float, now_ms: TimestampMs) -> None:
        """The records of the decision were appended."""
        if decision.is_confirmation:
            return
        for key, value in decision.records:
            transactional_id = decode_key(key)
            before = None if transactional_id is None else self.transactions.get(transactional_id)
            self.replay(key, value)
            if transactional_id is None:
                continue
            if before is None or not before.is_ending:  # completion changes nothing for the producer
                self._bumped_from.pop(transactional_id, None)
            transaction = self.transactions.get(transactional_id)
            if before is not None and before.state is State.ONGOING:
                self._count_end(transaction)
            if transaction is not None and transaction.state is State.ONGOING:
                self._watch(transaction, now, now_ms)
            elif (timer := self._timeouts.get(transactional_id)) is not None:
                timer.cancel()
                if transaction is None:
                    del self._timeouts[transactional_id]
        if decision.on_applied is not None:
            decision.on_applied()

    def _count_end(self, transaction: Transaction | None) -> None:
        """It was open before a change, and may be over now."""
        if transaction is None or transaction.state is State.ONGOING:
            return
        if transaction.commits:
            self._ended.committed += 1
        elif transaction.id in self._timing_out:
            self._ended.timed_out += 1
        else:
            self._ended.aborted += 1
        self._timing_out.discard(transaction.id)

    def _marked(self, decision: ShardDecision[AnswerT]) -> ShardDecision[AnswerT]:
        """Tell the partitions once the decision is committed, also if its producer no longer waits."""
        if decision.records:
            decision.effect = partial(self._mark, decision.records)
        return decision

    def _mark(self, records: Sequence[StateRecord]) -> None:
        for key, value in records:
            transactional_id = decode_key(key)
            if transactional_id is None or value is None or not self._is_live:
                continue
            transaction = decode_value(transactional_id, value)
            if transaction.is_ending:
                self._to_mark.append(markers_of(transaction, self._coordinator_epoch))

    def take_markers(self) -> list[MarkersToWrite]:
        """Returns the markers to write since the last call; see `complete`."""
        markers, self._to_mark = self._to_mark, []
        return markers

    def take_notes(self) -> list[str]:
        """Returns lines for the broker's log since the last call."""
        notes = list(self._notes)
        self._notes.clear()
        return notes

    # --- requests

    def init(
        self, request: InitRequest, now_ms: TimestampMs, spare_id: ProducerId | None = None
    ) -> ShardDecision[InitAnswer]:
        """NeedsProducerId: call again with a `spare_id` that was never used."""
        transactional_id = request.transactional_id
        spare = beginning.Spare(spare_id, self._bumped_from.get(transactional_id, NO_EPOCH))
        found = self.transactions.get(transactional_id)
        decision = self._marked(beginning.init(found, request, self.settings, spare, now_ms))
        answer = decision.if_committed
        if answer.error in NEEDS_CONFIRMATION:
            return confirmed(decision, transactional_id, found)
        if found is not None and decision.records and answer.ongoing == NO_IDENTITY:
            decision.on_applied = partial(self._remember_bump, transactional_id, request.expected.epoch)
        return decision

    def _remember_bump(self, transactional_id: str, epoch: int) -> None:
        """The producer came with `epoch`, and comes with it again if the answer is lost."""
        if epoch != NO_EPOCH:
            self._bumped_from[transactional_id] = epoch

    def add(self, request: AddRequest, now_ms: TimestampMs) -> ShardDecision[ErrorCode]:
        found = self.transactions.get(request.transactional_id)
        decision = joining.add(found, request, now_ms)
        if decision.if_committed not in NEEDS_CONFIRMATION:
            return decision
        return confirmed(decision, request.transactional_id, found)

    def verify(self, request: AddRequest) -> ShardDecision[list[VerifyAnswer]]:
        found = self.transactions.get(request.transactional_id)
        decision = joining.verify(found, request)
        if all(one.error not in NEEDS_CONFIRMATION for one in decision.if_committed):
            return decision
        return confirmed(decision, request.transactional_id, found)

    def end(
        self, request: EndRequest, now_ms: TimestampMs, spare_id: ProducerId | None = None
    ) -> ShardDecision[EndAnswer]:
        """NeedsProducerId: call again with a `spare_id` that was never used."""
        found = self.transactions.get(request.transactional_id)
        decision = self._marked(ending.end(found, request, spare_id, now_ms))
        # That the transaction has ended already must be as true as that it cannot be ended.
        error = decision.if_committed.error
        is_final = error is ErrorCode.NONE or error in NEEDS_CONFIRMATION
        return confirmed(decision, request.transactional_id, found) if is_final else decision

    def complete(self, marker: Marker, now_ms: TimestampMs) -> ShardDecision[None] | None:
        """Every partition has this marker, or was deleted. Returns None if this was known before."""
        found = self.transactions.get(marker.transactional_id)
        if (
            found is None
            or not found.is_ending
            or found.writer != marker.writer
            or marker.coordinator_epoch != self._coordinator_epoch
        ):
            return None
        return _effect(record_of(ending.complete(found, now_ms)))

    def describe(self, transactional_id: str) -> DescribedTransaction:
        return listing.describe(transactional_id, self.transactions.get(transactional_id))

    def listed(self, wanted: ListFilter, now_ms: TimestampMs) -> list[ListedTransaction]:
        return listing.listed(self.transactions.values(), wanted, now_ms)

    # --- time

    @property
    def next_deadline(self) -> float | None:
        """When `tick` has to run next, on the monotonic clock."""
        return self._timers.next_deadline

    def tick(self, now: float, now_ms: TimestampMs) -> ShardDecision[None] | None:
        """Returns the next decision whose time has come; to be written before the next call."""
        while (timer := self._timers.pop_due(now)) is not None:
            tick = Tick(now, now_ms)
            timer.action(tick)
            if tick.decision is not None:
                return tick.decision
        return None

    def _watch(self, transaction: Transaction, now: float, now_ms: TimestampMs) -> None:
        """Abort it when its time is over. A wall clock that jumps moves no timer that is running."""
        timer = self._timeouts.get(transaction.id)
        if timer is None:
            timer = self._timers.timer(partial(self._time_out, transaction.id))
            self._timeouts[transaction.id] = timer
        if transaction.timeout_ms == NO_TIMEOUT_MS:
            timer.cancel()
        elif timer.deadline is None:
            left_ms = transaction.started_ms + transaction.timeout_ms - now_ms
            timer.start(now + min(max(0, left_ms), transaction.timeout_ms) / 1000)

    def _time_out(self, transactional_id: str, tick: Tick) -> None:
        found = self.transactions.get(transactional_id)
        if found is None or found.state is not State.ONGOING:
            return
        self._notes.append(
            f"transaction of {transactional_id!r} (producer {found.writer.producer_id}, epoch "
            f"{found.writer.epoch}) is aborted: it was open for longer than its {found.timeout_ms} ms"
        )
        self._timing_out.add(transactional_id)
        # Again a little later, should this not be written; `apply` stops it.
        self._timeouts[transactional_id].start(tick.now + min(found.timeout_ms, 1000) / 1000)
        tick.decision = self._marked(_effect(record_of(ending.fence(found, tick.now_ms, may_go_on=True))))

    def _expire(self, tick: Tick) -> None:
        gone = self._expired(tick.now_ms)
        is_all = len(gone) < EXPIRED_PER_PIECE
        delay_ms = self.settings.expiry_check_interval_ms if is_all else PAUSE_MS
        self._expiry.start(tick.now + delay_ms / 1000)
        if gone:
            self._notes.append(f"{len(gone)} transactional ids have expired, such as {next(iter(gone))!r}")
            tick.decision = _effect(*(tombstone_of(one) for one in gone))

    def _expired(self, now_ms: TimestampMs) -> Collection[str]:
        limit_ms = self.settings.id_expiration_ms
        gone: list[str] = []
        for one in self.transactions.values():
            if one.is_idle and now_ms - one.updated_ms >= limit_ms:
                gone.append(one.id)
                if len(gone) == EXPIRED_PER_PIECE:
                    break
        return gone


def _effect(*records: StateRecord) -> ShardDecision[None]:
    """A decision that no client waits for."""
    return ShardDecision(Pending.ready(None), records)
