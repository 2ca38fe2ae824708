"""A share partition: decides which records a group's members get, and what becomes of them.

Pure: no clock, no disk. `now` is monotonic seconds, for locks; `now_ms` is the wall clock, for retries. Every
change takes effect at once and is *unsaved* until `saved`; the broker answers a member once its change is
saved. Acquiring is not saved: after a change of the leader, held records are available again.
"""

from collections.abc import Sequence, Set

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Offset, TimestampMs, Uuid
from tidelog.shares.bitsets import BitSet, lowest
from tidelog.shares.bitsets import runs as runs_of
from tidelog.shares.partition.acknowledgement import GROUP_BACKOFF, AckBatch, check
from tidelog.shares.partition.acquisition import Acquired, acquired, choose
from tidelog.shares.partition.chunk import CHUNK_RECORDS, CHUNK_SHIFT
from tidelog.shares.partition.dead_letters import (
    Undeliverable,
    archive,
    first_archiving,
    first_archiving_from,
    reasons,
)
from tidelog.shares.partition.delays import Delay, Delays
from tidelog.shares.partition.limits import Limits
from tidelog.shares.partition.load import StateLoad
from tidelog.shares.partition.locks import Lock, Locks
from tidelog.shares.partition.record_states import record_states
from tidelog.shares.partition.summary import Holder, delivery_counts, holders
from tidelog.shares.partition.tally import Tally
from tidelog.shares.partition.unsaved import Unsaved, take_unsaved
from tidelog.shares.partition.window import Window
from tidelog.shares.states import AckType, DeadLetterWrite, ShareState, StateBatch

WAKES_A_TURN = 2_048


class SharePartition:
    def __init__(self, state: ShareState | StateLoad, limits: Limits, tally: Tally | None = None) -> None:
        """A large state comes as a load, which has taken its batches in pieces."""
        if isinstance(state, StateLoad):
            load, state = state, state.state
        else:
            load = StateLoad(state)
            load.put(state.batches)
        self.limits = limits
        self.tally = tally or Tally()
        self.state_epoch = state.state_epoch
        self.dead_letters = state.dead_letters
        """The write of dead letters that is under way. After loading, it is done again before any other."""
        self.unsaved_version = 0
        """Grows with each change. An acknowledgement is saved once `saved_version` has reached this."""
        self.saved_version = 0
        self._taken_version = 0
        self._saving = False
        self._delays: Delays = load.delays
        self._locks = Locks()
        self._window: Window = load.window
        self._gone_below: Offset = self._window.start
        """Retention deleted the records below. Undeliverable ones may wait there for their dead letters."""
        if self._window.start != state.start_offset:
            self._changed()

    # What is where

    @property
    def start_offset(self) -> Offset:
        return self._window.start

    @property
    def end_offset(self) -> Offset:
        """Exclusive: records from here on were not read yet."""
        return self._window.end

    @property
    def acquired(self) -> int:
        return self._window.held

    @property
    def available(self) -> int:
        """Records before the end offset that may be delivered now."""
        return self._window.available

    @property
    def scheduled(self) -> int:
        return self._window.scheduled

    @property
    def delayed(self) -> int:
        return self._window.delayed

    @property
    def archiving(self) -> int:
        return self._window.archiving

    @property
    def done(self) -> int:
        """Records from the start offset on that never come again."""
        return self._window.done

    @property
    def has_archiving(self) -> bool:
        """Whether dead letters are to be written, or a write was begun."""
        return self._window.archiving > 0 or self.dead_letters is not None

    @property
    def locks(self) -> list[Lock]:
        """Ascending; members, their records and deadlines."""
        return list(self._locks)

    def delivery_counts(self) -> dict[int, int]:
        """How many unfinished records were delivered how often; those that never were are left out."""
        return delivery_counts(self._window)

    def holders(self) -> dict[str, Holder]:
        """What each member holds, by its id."""
        return holders(self._locks)

    def record_states(self, first: Offset) -> tuple[list[StateBatch], Offset]:
        """What became of single records from this offset on, and up to where that is told."""
        return record_states(self._window, self._delays, first)

    def done_from(self, first: Offset) -> int:
        """How many records from this offset on are done, which need not be in the window any more."""
        window = self._window
        if first <= window.start:
            return window.start - first + window.done
        return window.done - sum(
            (bits & chunk.done).bit_count()
            for index, bits in window.parts(window.start, first - 1)
            if (chunk := window.chunks.get(index)) is not None
        )

    # Deliver

    def next_offset(self) -> Offset | None:
        """Returns where to read the log for the next acquisition; None while nothing may be delivered."""
        if self._window.held >= self.limits.record_locks_max:
            return None
        at = self._window.next_available()
        return at if at <= self._last_deliverable() else None

    def acquire(
        self, member_id: str, first: Offset, last: Offset, *, records_max: int, now: float
    ) -> list[Acquired]:
        """Gives a member the available records within these offsets, which were just read from the log, as
        far as the limits allow. Call it once for a fetch: a record near its last delivery comes alone only
        within one call."""
        window, limits = self._window, self.limits
        last = min(last, self._last_deliverable())
        room = min(records_max, limits.record_locks_max - window.held)
        if room <= 0 or first > last:
            return []
        pieces = choose(window, first, last, room, limits)
        deadline = now + limits.lock_seconds
        for piece in pieces:
            index, begin, end, _ = piece
            base = index * CHUNK_RECORDS
            held = window.chunk(index).held
            window.hold(index, piece.bits, end - begin + 1)
            self._locks.add(member_id, base + begin, base + end, deadline, held)
        result = acquired(pieces)
        if result:
            window.extend(result[-1].last + 1)
        return result

    def skip(self, first: Offset, last: Offset) -> None:
        """Marks available records within these offsets as done, since the log has no deliverable record
        there: a control batch, an aborted transaction, or a gap that compaction left."""
        window = self._window
        bounded = min(last, window.start + self.limits.window_max - 1)
        skipped = False
        for index, bits in window.parts(first, bounded):
            free = window.available_in(index, bits)
            if free:
                window.skip(index, free)
                skipped = True
        if not skipped:
            return
        window.extend(bounded + 1)
        window.advance()
        if window.start == window.end and window.end <= last:
            window.forget_below(last + 1)  # a gap larger than any window
        self._changed()

    def schedule(self, first: Offset, last: Offset) -> None:
        """Holds back the available records within these offsets until `due`. Not saved: the log says it."""
        window = self._window
        for index, bits in window.parts(first, last):
            free = window.available_in(index, bits)
            if free:
                window.schedule(index, free)
                window.extend(index * CHUNK_RECORDS + free.bit_length())

    def due(self, first: Offset, last: Offset) -> None:
        """Makes scheduled records within these offsets available."""
        window = self._window
        for index, bits in window.parts(first, min(last, window.end - 1)):
            chunk = window.chunks.get(index)
            if chunk is not None and (bits := bits & chunk.scheduled):
                window.unschedule(index, bits)

    def wake(self, now_ms: TimestampMs) -> bool:
        """Makes delayed records available whose time has come. Returns whether more of them are left, for
        another turn of the event loop: a hundred thousand may be due at once."""
        window = self._window
        for _, first, last in self._delays.take(now_ms, WAKES_A_TURN):
            for index, bits in window.parts(first, last):
                chunk = window.chunks.get(index)
                if chunk is not None and (bits := bits & chunk.delayed):
                    window.wake(index, bits)
        next_ms = self._delays.next_ms
        return next_ms is not None and next_ms <= now_ms

    @property
    def next_due_ms(self) -> TimestampMs | None:
        return self._delays.next_ms

    # Acknowledge

    def acknowledge(
        self, member_id: str, batches: Sequence[AckBatch], now: float, now_ms: TimestampMs
    ) -> KafkaError | None:
        """Applies a member's acknowledgements, or, if any is wrong, none of them and returns why."""
        self.expire(now, now_ms)
        below = self._below
        refusal = check(self._window, self._locks, self.limits, member_id, batches, below=below)
        if refusal is not None:
            return refusal
        for batch in batches:
            for first, last, kind in batch.runs():
                # What was passed already has no effect.
                self.tally.acknowledged[kind] += max(0, last - max(first, below) + 1)
                for index, bits in self._window.parts(max(first, below), last):
                    if kind == AckType.RENEW:
                        self._renew(index, bits, now)
                    else:
                        self._apply(index, bits, kind, batch.delay_ms, now_ms)
        self._window.advance()
        return None

    def release(self, member_ids: Set[str], now: float, now_ms: TimestampMs) -> None:
        """Releases everything that members hold, since they left or their sessions ended."""
        self.expire(now, now_ms)
        self._release(self._locks.of_members(member_ids), now_ms)

    def expire(self, now: float, now_ms: TimestampMs) -> None:
        """Releases the records whose locks have reached their deadline."""
        deadline = self._locks.next_deadline()
        if deadline is not None and deadline <= now:
            over = self._locks.expired(now)
            self.tally.lock_timeouts += sum(lock.records for lock in over)
            self._release(over, now_ms)

    @property
    def next_deadline(self) -> float | None:
        return self._locks.next_deadline()

    def move_start(self, log_start: Offset) -> bool:
        """Forgets the records below the start of the log, which retention deleted. Those that wait for their
        dead letters are kept, as long as the window that begins with one reaches into the log. Returns
        whether anything changed."""
        window, below = self._window, self._below
        if log_start <= below:
            return False
        chunk = window.chunks.get(log_start >> CHUNK_SHIFT)
        self._locks.forget_below(log_start, 0 if chunk is None else chunk.held)
        self._delays.forget_below(log_start)
        first_kept = log_start - self.limits.window_max + 1
        kept = first_archiving_from(window, max(window.start, first_kept), log_start - 1)
        window.forget_below(log_start if kept is None else kept)
        for index, bits in window.parts(window.start, log_start - 1):
            window.forget(index, bits)
        window.extend(log_start)
        window.advance()
        self._gone_below = log_start
        self._changed()
        return True

    # Save

    def take_unsaved(self) -> Unsaved | None:
        """Returns what the next save writes; None if all is saved or a save is under way."""
        if self._saving or self._taken_version == self.unsaved_version:
            return None
        self._saving = True
        self._taken_version = self.unsaved_version
        return take_unsaved(self._window, self._delays, self.unsaved_version, self.dead_letters)

    def saved(self, unsaved: Unsaved) -> None:
        self._saving = False
        self.saved_version = unsaved.version
        for index in unsaved.chunks:
            self._window.collapse(index)

    def not_saved(self, unsaved: Unsaved) -> None:
        """Puts back what a save that failed had taken. State batches are absolute, so it does no harm if the
        save took effect after all."""
        self._saving = False
        self._taken_version = self.saved_version
        self._delays.not_saved(unsaved.delays)
        for index, bits in unsaved.chunks.items():
            self._window.mark_unsaved(index, bits)

    # Dead letters

    def first_undeliverable(self, records_max: int) -> list[Undeliverable]:
        """Returns the records that the next write of dead letters may take, ascending."""
        ranges = first_archiving(self._window, records_max)
        return reasons(self._window, ranges, self.limits.delivery_count_limit)

    def begin_dead_letters(
        self,
        producer_id: int,
        epoch: int,
        first_sequence: int,
        topic_id: Uuid,
        partition: int,
        *,
        offsets: tuple[tuple[Offset, Offset], ...],
    ) -> DeadLetterWrite | None:
        """Begins a write of these undeliverable records. Returns None if some are gone meanwhile, or a write
        is under way. The caller saves it before it produces the dead letters."""
        found = reasons(self._window, offsets, self.limits.delivery_count_limit)
        is_whole = sum(last - first + 1 for first, last in offsets) == sum(
            run.last - run.first + 1 for run in found
        )
        if not offsets or not is_whole or self.dead_letters is not None:
            return None
        self.dead_letters = DeadLetterWrite(producer_id, epoch, first_sequence, topic_id, partition, offsets)
        self._changed()
        return self.dead_letters

    def renumber_dead_letters(self, producer_id: int, epoch: int, first_sequence: int) -> None:
        """Gives the write that is under way another producer: its topic has lost earlier ones of the old."""
        if self.dead_letters is not None:
            self.dead_letters = self.dead_letters._replace(
                producer_id=producer_id, producer_epoch=epoch, first_sequence=first_sequence
            )
            self._changed()

    def forget_dead_letters(self) -> None:
        """Takes back the write that is under way, since its topic was deleted, and what it had with it."""
        if self.dead_letters is not None:
            self.dead_letters = None
            self._changed()

    def dead_letters_written(self) -> None:
        """Archives the records of the write that is under way."""
        if self.dead_letters is None:
            return
        archive(self._window, self.dead_letters.offsets)
        self.dead_letters = None
        self._window.advance()
        self._changed()

    def archive_undeliverable(self) -> None:
        """Archives every undeliverable record, since the group has no dead-letter topic any more. A write
        that is under way comes first."""
        if self.dead_letters is None and self._window.archiving:
            archive(self._window, tuple(first_archiving(self._window, self._window.archiving)))
            self._window.advance()
            self._changed()

    def dead_letter_reasons(self) -> list[Undeliverable]:
        """Returns why the records of the write that is under way are undeliverable, ascending."""
        if self.dead_letters is None:
            return []
        return reasons(self._window, self.dead_letters.offsets, self.limits.delivery_count_limit)

    # Within

    @property
    def _below(self) -> Offset:
        """No record below can be delivered or acknowledged any more."""
        return max(self._window.start, self._gone_below)

    def _last_deliverable(self) -> Offset:
        """While the window is full, only the window is delivered; while too many records wait for a retry,
        nothing is, as each may have to wait again. The first that are due change that."""
        window, limits = self._window, self.limits
        if window.delayed >= limits.delayed_max:
            return window.start - 1
        return max(window.end, window.start + limits.window_max) - 1

    def _renew(self, index: int, bits: BitSet, now: float) -> None:
        first, last = _offsets(index, bits)
        self._locks.renew(first, last, now + self.limits.lock_seconds, self._window.chunks[index].held)

    def _apply(self, index: int, bits: BitSet, kind: int, delay_ms: int, now_ms: TimestampMs) -> None:
        """Applies one type of acknowledgement to a run of held records in one chunk."""
        first, last = _offsets(index, bits)
        window = self._window
        self._locks.drop(first, last)
        if kind == AckType.ACCEPT:
            window.finish(index, bits, last - first + 1, accepted=True)
        elif kind == AckType.RELEASE:
            self._fail_delivery(index, bits, delay_ms, now_ms)
        elif kind == AckType.REJECT and self.limits.has_dead_letters:
            window.begin_archiving(index, bits, rejected=True)
        else:
            window.finish(index, bits, last - first + 1, accepted=False)
        self._changed()

    def _release(self, locks: list[Lock], now_ms: TimestampMs) -> None:
        """The records of a chunk together: a member may hold thousands by locks of one record each."""
        released: dict[int, BitSet] = {}
        for lock in locks:
            index = lock.first >> CHUNK_SHIFT
            released[index] = released.get(index, 0) | (self._window.chunks[index].held & lock.bits)
            self._locks.remove(lock)
        for index, bits in released.items():
            self._fail_delivery(index, bits, GROUP_BACKOFF, now_ms)
        if locks:
            self._window.advance()
            self._changed()

    def _fail_delivery(self, index: int, bits: BitSet, delay_ms: int, now_ms: TimestampMs) -> None:
        """Lets held records come again, now or later; after their last delivery, never."""
        window, limits = self._window, self.limits
        for count, part in window.chunks[index].counts.groups(bits):
            if count >= limits.delivery_count_limit:
                if limits.has_dead_letters:
                    window.begin_archiving(index, part, rejected=False)
                else:
                    window.finish(index, part, part.bit_count(), accepted=False)
                continue
            available_at = limits.retry_at(count, delay_ms, now_ms)
            if available_at <= now_ms:
                window.free(index, part)
                continue
            window.delay(index, part)
            base = index * CHUNK_RECORDS
            for first, last in runs_of(part):
                self._delays.add(Delay(available_at, base + first, base + last))

    def _changed(self) -> None:
        self.unsaved_version += 1


def _offsets(index: int, run: BitSet) -> tuple[Offset, Offset]:
    """Returns the first and the last offset of a run in a chunk."""
    base = index * CHUNK_RECORDS
    return base + lowest(run), base + run.bit_length() - 1
