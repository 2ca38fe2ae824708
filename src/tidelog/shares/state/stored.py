"""The stored state of one share partition, as the records of the log add up to it.

It also knows where in the log it is: everything from its last whole snapshot on is needed to load it.
"""

from tidelog.base.ids import Offset, TimestampMs
from tidelog.shares.state.records import NO_LOG_END, UNCHANGED, Part, Snapshot, Update
from tidelog.shares.state.settings import RECORD_BATCHES
from tidelog.shares.state.window import StoredWindow
from tidelog.shares.states import ShareState


class StoredState:
    __slots__ = (
        "begun_at",
        "begun_batches",
        "created_ms",
        "dead_letters",
        "delivery_complete_count",
        "leader_epoch",
        "needed_from",
        "next_slice",
        "sequence",
        "snapshot_batches",
        "snapshot_epoch",
        "state_epoch",
        "update_batches",
        "updates",
        "window",
        "written_ms",
    )

    def __init__(self, snapshot: Snapshot, at: Offset) -> None:
        """`at`: the offset of the record."""
        self.state_epoch = snapshot.state_epoch
        self.leader_epoch = snapshot.leader_epoch
        self.window = StoredWindow(snapshot.start_offset)
        self.needed_from = at
        self.next_slice: Offset | None = None
        """Where the next part of a snapshot begins that this coordinator writes in parts."""
        self.put_snapshot(snapshot, at)

    def put_snapshot(self, snapshot: Snapshot, at: Offset) -> None:
        """The first or only record of a snapshot; one in parts leaves the state as it is."""
        self.snapshot_epoch = snapshot.snapshot_epoch
        self.created_ms = snapshot.created_ms
        self.written_ms = snapshot.written_ms
        self.delivery_complete_count = snapshot.delivery_complete_count
        self.dead_letters = snapshot.dead_letters
        self.sequence = snapshot.sequence
        for batch in snapshot.batches:
            self.window.put(batch)
        self.snapshot_written(snapshot, at)

    def snapshot_written(self, snapshot: Snapshot, at: Offset) -> None:
        self.snapshot_epoch = snapshot.snapshot_epoch
        self.created_ms, self.written_ms = snapshot.created_ms, snapshot.written_ms
        self.updates = self.update_batches = 0
        if snapshot.part is Part.WHOLE:
            self.needed_from = at
            self.begun_at: Offset | None = None
            self.snapshot_batches = len(snapshot.batches)
        else:
            self.begun_at, self.begun_batches = at, len(snapshot.batches)
            self.snapshot_batches = len(snapshot.batches)

    def put_update(self, update: Update) -> None:
        self.leader_epoch = max(self.leader_epoch, update.leader_epoch)
        self.sequence = max(self.sequence, update.sequence)
        self.delivery_complete_count = update.delivery_complete_count
        self.dead_letters = update.dead_letters
        window = self.window
        if update.log_end != NO_LOG_END:
            window.truncate(update.log_end)
        if update.start_offset != UNCHANGED:
            window.advance(update.start_offset)
        for batch in update.batches:
            window.put(batch)
        if update.part is Part.WHOLE:
            self.updates += 1
            self.update_batches += len(update.batches)
        else:
            self.part_written(update)

    def part_written(self, update: Update) -> None:
        if self.begun_at is None:
            return  # the first part was deleted, and with it everything that this snapshot replaced
        self.begun_batches += len(update.batches)
        if update.part is Part.LAST:
            self.needed_from, self.begun_at = self.begun_at, None
            self.snapshot_batches = self.begun_batches

    def wants_snapshot(self, updates_per_snapshot: int) -> bool:
        """After so many updates; a state that is larger than these waits until they are as large as it is,
        so that snapshots at most double what is written."""
        return (
            self.begun_at is None
            and self.updates >= max(1, updates_per_snapshot)
            and self.update_batches >= self.snapshot_batches
        )

    def next_snapshot(self, now_ms: TimestampMs, *, is_cold: bool) -> tuple[Snapshot, Offset | None]:
        """Returns the snapshot, or its first part and where its next part begins."""
        batches, rest = self.window.batches(limit=RECORD_BATCHES)
        snapshot = Snapshot(
            self.snapshot_epoch + 1,
            self.state_epoch,
            self.leader_epoch,
            self.window.start,
            self.created_ms if is_cold else now_ms,
            now_ms,
            batches,
            self.delivery_complete_count,
            self.dead_letters,
            Part.WHOLE if rest is None else Part.MORE,
            self.sequence,
        )
        return snapshot, rest

    def next_part(self, first: Offset) -> tuple[Update, Offset | None]:
        """Returns the part of a snapshot that begins at an offset, and where its next part begins."""
        batches, rest = self.window.batches(first, RECORD_BATCHES)
        part = Part.LAST if rest is None else Part.MORE
        return self.unchanged()._replace(batches=batches, part=part), rest

    def unchanged(self) -> Update:
        return Update(
            self.snapshot_epoch,
            self.leader_epoch,
            UNCHANGED,
            (),
            self.delivery_complete_count,
            self.dead_letters,
            sequence=self.sequence,
        )

    def share_state(self, first: Offset | None, limit: int | None) -> tuple[ShareState, Offset | None]:
        """Returns what a leader gets to read, and where it goes on reading if there is more."""
        batches, rest = self.window.batches(first, limit)
        state = ShareState(self.state_epoch, self.window.start, tuple(batches), self.dead_letters)
        return state, rest
