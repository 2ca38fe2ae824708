"""All transactional ids of one partition of `__transaction_state`: the one door to this room.

Decide, append, apply. A request method decides and returns an `Outcome`. The shell appends its records as one
batch, calls `apply` in the same breath and `release` once they are safe; where the append failed, it does
nothing. No other method may run between a decision with records and its `apply`.

A decision that is safe leads to markers: the shell takes them with `take_markers`, has them written, and
calls `complete` when every partition has its own. After a crash `on_loaded` brings them up again, whatever
had been written of them: a partition takes the same marker twice.
"""

from collections import deque
from collections.abc import Collection
from functools import partial
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import NO_EPOCH, Epoch, ProducerId, TimestampMs
from tidelog.base.timers import Timer, Timers
from tidelog.transactions import beginning, ending, joining, listing
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
from tidelog.transactions.outcome import (
    NEEDS_CONFIRMATION,
    Outcome,
    TransactionRecord,
    confirmed,
    record,
    tombstone,
)
from tidelog.transactions.record_format import decode_key, decode_value
from tidelog.transactions.settings import TransactionSettings
from tidelog.transactions.states import State
from tidelog.transactions.transaction import NO_TIMEOUT_MS, Transaction

NOTES_MAX = 1000
EXPIRED_PER_PIECE = 1000
"""Ids that one batch of tombstones forgets: it stays small, and so does the pause for everybody else."""
PAUSE_MS = 20


class Tick:
    """What the timers of one call lead to."""

    __slots__ = ("now", "now_ms", "outcomes")

    def __init__(self, now: float, now_ms: TimestampMs) -> None:
        self.now = now
        self.now_ms = now_ms
        self.outcomes: list[Outcome[None]] = []


class TransactionShard:
    def __init__(self, settings: TransactionSettings) -> None:
        self.settings = settings
        self.transactions: dict[str, Transaction] = {}
        self.skipped = 0
        """Records of kinds that this version does not know, left alone as Kafka does."""
        self._coordinator_epoch: Epoch = NO_EPOCH
        self._is_live = False
        self._bumped_from: dict[str, int] = {}  # soft: a new coordinator refuses such a retry, as Kafka does
        self._timers: Timers[Tick] = Timers()
        self._timeouts: dict[str, Timer[Tick]] = {}
        self._expiry = self._timers.timer(self._expire)
        self._to_mark: list[MarkersToWrite] = []
        self._notes: deque[str] = deque(maxlen=NOTES_MAX)

    # --- state that survives

    def replay(self, key: bytes, value: bytes | None) -> None:
        """Make one record true: while loading, and live right after the append."""
        transactional_id = decode_key(key)
        if transactional_id is None:
            self.skipped += 1
        elif value is None:
            self.transactions.pop(transactional_id, None)
        else:
            self.transactions[transactional_id] = decode_value(transactional_id, value)

    def on_loaded(self, coordinator_epoch: Epoch, now: float, now_ms: TimestampMs) -> None:
        """The whole partition was replayed: from here on requests are served.

        `coordinator_epoch` is the leader epoch of the partition: markers carry it, so that those of an
        earlier coordinator are refused.
        """
        self._coordinator_epoch, self._is_live = coordinator_epoch, True
        for transaction in self.transactions.values():
            if transaction.is_ending:
                self._to_mark.append(markers_of(transaction, coordinator_epoch))
            elif transaction.state is State.ONGOING:
                self._watch(transaction, now, now_ms)
        self._expiry.start(now + self.settings.expiry_check_interval_ms / 1000)

    def unload(self) -> None:
        """This broker leads the partition no more. The shard is of no use after that."""
        self._is_live = False
        for timer in self._timeouts.values():
            timer.cancel()
        self._expiry.cancel()
        self._to_mark.clear()
        self.transactions.clear()

    # --- what became of an outcome

    def apply(self, outcome: Outcome[Any], now: float, now_ms: TimestampMs) -> None:
        """Its records were appended."""
        if outcome.is_confirmation:
            return
        for key, value in outcome.records:
            transactional_id = decode_key(key)
            before = None if transactional_id is None else self.transactions.get(transactional_id)
            self.replay(key, value)
            if transactional_id is None:
                continue
            if before is None or not before.is_ending:  # completion changes nothing for the producer
                self._bumped_from.pop(transactional_id, None)
            if outcome.bumped_from != NO_EPOCH:
                self._bumped_from[transactional_id] = outcome.bumped_from
            transaction = self.transactions.get(transactional_id)
            if transaction is not None and transaction.state is State.ONGOING:
                self._watch(transaction, now, now_ms)
            elif (timer := self._timeouts.get(transactional_id)) is not None:
                timer.cancel()
                if transaction is None:
                    del self._timeouts[transactional_id]

    def release(self, outcome: Outcome[Any]) -> None:
        """Its records are safe: what was decided may be told to partitions."""
        if outcome.is_confirmation:
            return
        for key, value in outcome.records:
            transactional_id = decode_key(key)
            if transactional_id is None or value is None or not self._is_live:
                continue
            transaction = decode_value(transactional_id, value)
            if transaction.is_ending:
                self._to_mark.append(markers_of(transaction, self._coordinator_epoch))

    def take_markers(self) -> list[MarkersToWrite]:
        """What is to be written since the last call; see `complete`."""
        markers, self._to_mark = self._to_mark, []
        return markers

    def take_notes(self) -> list[str]:
        """Lines for the broker's log since the last call."""
        notes = list(self._notes)
        self._notes.clear()
        return notes

    # --- requests

    def init(
        self, request: InitRequest, now_ms: TimestampMs, spare_id: ProducerId | None = None
    ) -> Outcome[InitAnswer]:
        """NeedsProducerId: ask again with a `spare_id`, which nobody may have used."""
        known = request.transactional_id
        spare = beginning.Spare(spare_id, self._bumped_from.get(known, NO_EPOCH))
        found = self.transactions.get(known)
        outcome = beginning.init(found, request, self.settings, spare, now_ms)
        return confirmed(outcome, known, found) if outcome.answer.error in NEEDS_CONFIRMATION else outcome

    def add(self, request: AddRequest, now_ms: TimestampMs) -> Outcome[ErrorCode]:
        found = self.transactions.get(request.transactional_id)
        outcome = joining.add(found, request, now_ms)
        if outcome.answer not in NEEDS_CONFIRMATION:
            return outcome
        return confirmed(outcome, request.transactional_id, found)

    def verify(self, request: AddRequest) -> Outcome[list[VerifyAnswer]]:
        found = self.transactions.get(request.transactional_id)
        outcome = joining.verify(found, request)
        if all(one.error not in NEEDS_CONFIRMATION for one in outcome.answer):
            return outcome
        return confirmed(outcome, request.transactional_id, found)

    def end(
        self, request: EndRequest, now_ms: TimestampMs, spare_id: ProducerId | None = None
    ) -> Outcome[EndAnswer]:
        """NeedsProducerId: ask again with a `spare_id`, which nobody may have used."""
        found = self.transactions.get(request.transactional_id)
        outcome = ending.end(found, request, spare_id, now_ms)
        # That it is ended already must be as true as that it cannot be.
        error = outcome.answer.error
        is_told = error is ErrorCode.NONE or error in NEEDS_CONFIRMATION
        return confirmed(outcome, request.transactional_id, found) if is_told else outcome

    def complete(self, marker: Marker, now_ms: TimestampMs) -> Outcome[None] | None:
        """Every partition has this marker, or is gone. None: that is known already."""
        found = self.transactions.get(marker.transactional_id)
        if (
            found is None
            or not found.is_ending
            or found.writer != marker.writer
            or marker.coordinator_epoch != self._coordinator_epoch
        ):
            return None
        return _effect(record(ending.complete(found, now_ms)))

    def describe(self, transactional_id: str) -> DescribedTransaction:
        return listing.describe(transactional_id, self.transactions.get(transactional_id))

    def listed(self, wanted: ListFilter, now_ms: TimestampMs) -> list[ListedTransaction]:
        return listing.listed(self.transactions.values(), wanted, now_ms)

    # --- time

    @property
    def next_deadline(self) -> float | None:
        """When `tick` has to run next, on the monotonic clock."""
        return self._timers.next_deadline

    def tick(self, now: float, now_ms: TimestampMs) -> Outcome[None] | None:
        """The next thing that is due by now; to be written before `tick` is called again."""
        while (timer := self._timers.pop_due(now)) is not None:
            tick = Tick(now, now_ms)
            timer.action(tick)
            if tick.outcomes:
                return tick.outcomes[0]
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
        # Again a little later, should this not be written; `apply` stops it.
        self._timeouts[transactional_id].start(tick.now + min(found.timeout_ms, 1000) / 1000)
        tick.outcomes.append(_effect(record(ending.fence(found, tick.now_ms, may_go_on=True))))

    def _expire(self, tick: Tick) -> None:
        gone = self._expired(tick.now_ms)
        is_all = len(gone) < EXPIRED_PER_PIECE
        delay_ms = self.settings.expiry_check_interval_ms if is_all else PAUSE_MS
        self._expiry.start(tick.now + delay_ms / 1000)
        if gone:
            self._notes.append(f"{len(gone)} transactional ids have expired, such as {next(iter(gone))!r}")
            tick.outcomes.append(_effect(*(tombstone(one) for one in gone)))

    def _expired(self, now_ms: TimestampMs) -> Collection[str]:
        limit_ms = self.settings.id_expiration_ms
        gone: list[str] = []
        for one in self.transactions.values():
            if one.is_idle and now_ms - one.updated_ms >= limit_ms:
                gone.append(one.id)
                if len(gone) == EXPIRED_PER_PIECE:
                    break
        return gone


def _effect(*records: TransactionRecord) -> Outcome[None]:
    """Something that nobody waits for."""
    return Outcome(None, _nobody_is_told, records)


def _nobody_is_told(_: ErrorCode) -> None:
    return None
