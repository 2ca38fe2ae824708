"""Which states are due for a snapshot, and the records of the next few.

Snapshots are written in the background, in pieces of about one record, so that a large state does not hold
up the writes of others.
"""

from typing import NamedTuple

from tidelog.base.ids import Offset, TimestampMs
from tidelog.coordination.decision import StateRecord
from tidelog.shares.place import SharePlace
from tidelog.shares.state.records import (
    SNAPSHOT_KEY,
    UPDATE_KEY,
    Snapshot,
    Update,
    encode_key,
    encode_snapshot,
    encode_update,
)
from tidelog.shares.state.settings import RECORD_BATCHES
from tidelog.shares.state.stored import StoredState

RETRY_SECONDS = 5.0
SMALL_BATCHES = 16
"""What an empty snapshot counts as, beside the batches in it."""


class WrittenSnapshot(NamedTuple):
    """A snapshot or a part of one, to be marked in its state once it is appended."""

    place: SharePlace
    state: StoredState
    value: Snapshot | Update
    rest: Offset | None


class DueSnapshots:
    def __init__(self) -> None:
        self._due: dict[SharePlace, bool] = {}
        """In the order of becoming due; whether only its age makes it due."""
        self._not_before = 0.0

    @property
    def next_deadline(self) -> float | None:
        return self._not_before if self._due else None

    def add(self, place: SharePlace, *, is_cold: bool = False) -> None:
        self._due.setdefault(place, is_cold)

    def drop(self, place: SharePlace) -> None:
        self._due.pop(place, None)

    def failed(self, now: float, written: list[WrittenSnapshot]) -> None:
        """They were not appended: the log has to be writable again first."""
        self._not_before = now + RETRY_SECONDS
        for one in written:
            self.add(one.place)

    def take(
        self, states: dict[SharePlace, StoredState], now: float, now_ms: TimestampMs
    ) -> tuple[list[StateRecord], list[WrittenSnapshot]]:
        """Returns the next few, about as many as fit one record of a large snapshot."""
        records: list[StateRecord] = []
        written: list[WrittenSnapshot] = []
        room = RECORD_BATCHES
        while self._due and room > 0 and now >= self._not_before:
            place, is_cold = next(iter(self._due.items()))
            del self._due[place]
            state = states.get(place)
            if state is None:
                continue
            if state.next_slice is None:
                snapshot, rest = state.next_snapshot(now_ms, is_cold=is_cold)
                records.append(StateRecord(encode_key(SNAPSHOT_KEY, place), encode_snapshot(snapshot)))
                written.append(WrittenSnapshot(place, state, snapshot, rest))
            else:
                update, rest = state.next_part(state.next_slice)
                records.append(StateRecord(encode_key(UPDATE_KEY, place), encode_update(update)))
                written.append(WrittenSnapshot(place, state, update, rest))
            room -= len(written[-1].value.batches) + SMALL_BATCHES
        return records, written

    def applied(self, one: WrittenSnapshot, at: Offset) -> None:
        """A record that `take` returned was appended at an offset: all it says of records is known."""
        if isinstance(one.value, Snapshot):
            one.state.snapshot_written(one.value, at)
        else:
            one.state.part_written(one.value)
        one.state.next_slice = one.rest
        if one.rest is not None:
            self.add(one.place)
