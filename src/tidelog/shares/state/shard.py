"""The share coordinator of one partition of `__share_group_state`: what groups have done with partitions.

A leader reads the state of its share partition once, which fences the leader before it, and then writes what
changes. Writes become update records; snapshots follow in the background.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any, TypeAlias, TypeVar

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, Offset, TimestampMs, Uuid
from tidelog.coordination.decision import ShardDecision, StateRecord
from tidelog.shares.place import SharePlace
from tidelog.shares.state import refusals
from tidelog.shares.state.records import (
    NO_LOG_END,
    NO_SEQUENCE,
    SNAPSHOT_KEY,
    UNCHANGED,
    UPDATE_KEY,
    Part,
    Snapshot,
    Update,
    decode_key,
    decode_snapshot,
    decode_update,
    encode_key,
    encode_snapshot,
    encode_update,
    kind_of,
)
from tidelog.shares.state.requests import ANY_EPOCH, StateRead, StateSummary, StateWrite
from tidelog.shares.state.settings import RECORD_BATCHES, ShareStateSettings
from tidelog.shares.state.snapshots import DueSnapshots, WrittenSnapshot
from tidelog.shares.state.stored import StoredState
from tidelog.shares.states import NO_START_OFFSET

AnswerT = TypeVar("AnswerT")
Refusable: TypeAlias = ShardDecision[AnswerT | KafkaError]
HasPartition: TypeAlias = Callable[[Uuid, int], bool]

NOT_READ: Epoch = -1
"""The leader epoch of a state that no leader has read yet."""


class ShareStateShard:
    def __init__(self, settings: ShareStateSettings, has_partition: HasPartition) -> None:
        self.settings = settings
        self.next_offset: Offset = 0
        """Of the next record that is replayed or applied."""
        self._has_partition = has_partition
        self._states: dict[SharePlace, StoredState] = {}
        self._snapshots = DueSnapshots()
        self._cold_deadline: float | None = None
        self._writing: set[SharePlace] = set()
        self._rests = False

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[SharePlace]:
        return iter(self._states)

    @property
    def needed_from(self) -> Offset:
        """A load needs no record below this offset."""
        return min((state.needed_from for state in self._states.values()), default=self.next_offset)

    # Requests

    def initialize(
        self, place: SharePlace, state_epoch: int, start_offset: Offset, now_ms: TimestampMs
    ) -> Refusable[None]:
        """Begin a state, or begin it anew: at an offset, or where the group's setting says."""
        state = self._states.get(place)
        if place.partition < 0:
            return _refused(refusals.negative())
        refusal = refusals.of_start(start_offset)
        if refusal is not None:
            return _refused(refusal)
        if state is not None and ANY_EPOCH != state_epoch < state.state_epoch:
            return _refused(refusals.old_state_epoch(state_epoch, state))
        if not self._has_partition(place.topic_id, place.partition):
            return _refused(refusals.unknown_partition())
        if state is not None and state_epoch == state.state_epoch != ANY_EPOCH:
            return _decided(None)  # asked again, or come late: what the group has done since then stays
        snapshot = Snapshot(
            0 if state is None else state.snapshot_epoch + 1,
            state_epoch if state is None else max(state_epoch, state.state_epoch),
            NOT_READ if state is None else state.leader_epoch,
            start_offset,
            now_ms,
            now_ms,
            # Where the group begins is open, and so is what lies above it.
            delivery_complete_count=-1 if start_offset == NO_START_OFFSET else 0,
            sequence=NO_SEQUENCE if state is None else state.sequence,
        )
        record = StateRecord(encode_key(SNAPSHOT_KEY, place), encode_snapshot(snapshot))
        return _decided(None, [record])

    def read(
        self,
        place: SharePlace,
        leader_epoch: Epoch,
        first: Offset | None = None,
        limit: int | None = None,
    ) -> Refusable[StateRead]:
        """The state for the leader of the partition; from now on leaders of older epochs are fenced."""
        state = self._states.get(place)
        refusal = self._refusal(place, state, "Read", leader_epoch)
        if refusal is not None or state is None:
            return _refused(refusal or refusals.uninitialized("Read"))
        share_state, rest = state.share_state(first, limit)
        answer = StateRead(share_state, state.sequence, rest)
        if leader_epoch in (ANY_EPOCH, state.leader_epoch):
            return _decided(answer)
        return self._update(place, state, state.unchanged()._replace(leader_epoch=leader_epoch), answer)

    def write(self, place: SharePlace, write: StateWrite) -> Refusable[None]:
        state = self._states.get(place)
        refusal = self._refusal(place, state, "Write", write.leader_epoch)
        if refusal is not None or state is None:
            return _refused(refusal or refusals.uninitialized("Write"))
        if ANY_EPOCH != write.state_epoch < state.state_epoch:
            return _refused(refusals.old_state_epoch(write.state_epoch, state))
        if write.sequence != NO_SEQUENCE and write.leader_epoch > state.leader_epoch:
            return _refused(refusals.not_read(write.leader_epoch, state))
        # The parts of one request share a sequence.
        lowest = state.sequence if write.is_continued else state.sequence + 1
        if NO_SEQUENCE != write.sequence < lowest:
            return _refused(refusals.late(write.sequence, state))
        before = state.window.start if write.log_end == NO_LOG_END else min(state.window.start, write.log_end)
        start = max(before, write.start_offset)
        refusal = refusals.of_batches(write.batches, start) or refusals.of_dead_letters(write.dead_letters)
        if refusal is not None:
            return _refused(refusal)
        leader_epoch = max(state.leader_epoch, write.leader_epoch)
        if write.is_partial:
            update = state.unchanged()._replace(
                leader_epoch=leader_epoch, batches=write.batches, sequence=max(state.sequence, write.sequence)
            )
        else:
            update = Update(
                state.snapshot_epoch,
                leader_epoch,
                # A start offset that is behind says nothing new.
                UNCHANGED if write.start_offset <= before else write.start_offset,
                write.batches,
                write.delivery_complete_count,
                write.dead_letters,
                sequence=max(state.sequence, write.sequence),
                log_end=write.log_end,
            )
        self._writing.add(place)
        return self._update(place, state, update, None)

    def is_writing(self, place: SharePlace) -> bool:
        """Whether a write was decided on and is not applied yet: another decision must wait for that."""
        return place in self._writing

    def forget_writing(self) -> None:
        """No write waits to be applied any more: what was decided on is applied, or failed."""
        self._writing.clear()

    def delete(self, place: SharePlace) -> Refusable[None]:
        if place.partition < 0:
            return _refused(refusals.negative())
        if not self._has_partition(place.topic_id, place.partition):
            return _refused(refusals.unknown_partition())
        return _decided(None, [_tombstone(place)] if place in self._states else ())

    def summary(self, place: SharePlace) -> Refusable[StateSummary]:
        if place.partition < 0:
            return _refused(refusals.negative())
        if not self._has_partition(place.topic_id, place.partition):
            return _refused(refusals.unknown_partition())
        state = self._states.get(place)
        if state is None:
            return _decided(StateSummary())
        return _decided(_summary(state))

    def summaries(self, topic_ids: Collection[Uuid]) -> Iterator[tuple[SharePlace, StateSummary]]:
        """Where groups are in the partitions of these topics."""
        for place, state in self._states.items():
            if place.topic_id in topic_ids:
                yield place, _summary(state)

    def starts(self) -> Iterator[tuple[SharePlace, Offset, int]]:
        """Start offset and finished records above it, of every state; states may change meanwhile."""
        for place in list(self._states):
            state = self._states.get(place)
            if state is not None:
                yield place, state.window.start, state.delivery_complete_count

    def delete_topics(self, topic_ids: Collection[Uuid]) -> Iterator[ShardDecision[None]]:
        """The topics are gone, and with them what groups did with their partitions."""
        gone = [place for place in self._states if place.topic_id in topic_ids]
        for at in range(0, len(gone), RECORD_BATCHES):
            records = [_tombstone(place) for place in gone[at : at + RECORD_BATCHES]]
            yield ShardDecision.of(None, lambda _: None, records)

    def _refusal(
        self, place: SharePlace, state: StoredState | None, what: str, leader_epoch: Epoch
    ) -> KafkaError | None:
        if place.partition < 0:
            return refusals.negative()
        if state is None:
            return refusals.uninitialized(what)
        if ANY_EPOCH != leader_epoch < state.leader_epoch:
            return refusals.old_leader_epoch(leader_epoch, state)
        return None if self._has_partition(place.topic_id, place.partition) else refusals.unknown_partition()

    def _update(
        self, place: SharePlace, state: StoredState, update: Update, answer: AnswerT
    ) -> Refusable[AnswerT]:
        record = StateRecord(encode_key(UPDATE_KEY, place), encode_update(update))
        decision = _decided(answer, [record])
        decision.on_applied = partial(self._apply_update, place, state, update)
        return decision

    # The log

    def replay(self, key: bytes, value: bytes | None) -> None:
        at, self.next_offset = self.next_offset, self.next_offset + 1
        if kind_of(key) not in (SNAPSHOT_KEY, UPDATE_KEY):
            return  # of a later version
        kind, place = decode_key(key)
        state = self._states.get(place)
        if value is None:
            self._states.pop(place, None)
            self._snapshots.drop(place)
        elif kind == SNAPSHOT_KEY:
            snapshot = decode_snapshot(value)
            if state is None or snapshot.part is Part.WHOLE:
                self._states[place] = StoredState(snapshot, at)
                self._snapshots.drop(place)
            else:
                state.put_snapshot(snapshot, at)
        elif state is not None:
            state.put_update(decode_update(value))
        # An update of an unknown state: its snapshot was deleted, and a later one or a tombstone follows.

    def on_loaded(self, now: float, now_ms: TimestampMs) -> Iterable[ShardDecision[None]]:
        for place, state in self._states.items():
            if state.begun_at is not None or state.wants_snapshot(self.settings.updates_per_snapshot):
                self._snapshots.add(place)
        self._start_cold_timer(now)
        return ()

    def apply(self, decision: ShardDecision[Any], now: float, now_ms: TimestampMs) -> None:
        if decision.on_applied is not None:
            decision.on_applied()  # what the records say, without decoding them
        else:
            for key, value in decision.records:
                self.replay(key, value)
        self._start_cold_timer(now)

    def _apply_update(self, place: SharePlace, state: StoredState, update: Update) -> None:
        self.next_offset += 1
        self._writing.discard(place)
        state.put_update(update)
        if state.wants_snapshot(self.settings.updates_per_snapshot):
            self._snapshots.add(place)

    # Snapshots

    @property
    def next_deadline(self) -> float | None:
        deadlines = (self._snapshots.next_deadline, self._cold_deadline)
        return min((one for one in deadlines if one is not None), default=None)

    def tick(self, now: float, now_ms: TimestampMs) -> ShardDecision[None] | None:
        if self._cold_deadline is not None and now >= self._cold_deadline:
            self._cold_deadline = None
            self._start_cold_timer(now)
            self._mark_cold(now_ms)
        if self._rests:
            self._rests = False  # others get their turn before the next snapshots
            return None
        records, written = self._snapshots.take(self._states, now, now_ms)
        if not records:
            return None
        self._rests = True
        appended = False

        def on_applied() -> None:
            nonlocal appended
            appended = True
            self._apply_snapshots(written)

        def failed(_error: ErrorCode, now: float, _now_ms: TimestampMs) -> None:
            if not appended:
                self._snapshots.failed(now, written)

        decision: ShardDecision[None] = ShardDecision.of(None, lambda _: None, records, failed=failed)
        decision.on_applied = on_applied
        return decision

    def _apply_snapshots(self, written: list[WrittenSnapshot]) -> None:
        for one in written:
            self._snapshots.applied(one, self.next_offset)
            self.next_offset += 1

    def _start_cold_timer(self, now: float) -> None:
        if self._cold_deadline is None and self._states:
            self._cold_deadline = now + self.settings.cold_snapshot_ms / 1000

    def _mark_cold(self, now_ms: TimestampMs) -> None:
        """An old snapshot of an idle state keeps all later records from being deleted. New snapshots are
        worth their bytes once most of the records could go."""
        needed = sum(1 + state.updates for state in self._states.values())
        if self.next_offset - self.needed_from <= 2 * needed:
            return
        oldest = now_ms - self.settings.cold_snapshot_ms
        for place, state in self._states.items():
            if state.begun_at is None and state.written_ms <= oldest:
                self._snapshots.add(place, is_cold=True)

    def take_notes(self) -> Iterable[str]:
        return ()

    def unload(self) -> None:
        """No client waits for a later decision."""


def _decided(answer: AnswerT, records: Iterable[StateRecord] = ()) -> Refusable[AnswerT]:
    return ShardDecision.of(answer, KafkaError, tuple(records))


def _refused(error: KafkaError) -> Refusable[AnswerT]:
    return ShardDecision.of(error, KafkaError)


def _tombstone(place: SharePlace) -> StateRecord:
    return StateRecord(encode_key(SNAPSHOT_KEY, place), None)


def _summary(state: StoredState) -> StateSummary:
    leader_epoch = max(0, state.leader_epoch)
    return StateSummary(state.state_epoch, leader_epoch, state.window.start, state.delivery_complete_count)
