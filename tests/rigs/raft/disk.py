"""The dumbest durable log there can be: what a Raft node finds again after a crash."""

import msgspec

from tidelog.base.invariant import invariant
from tidelog.raft.entries import NO_INDEX, NO_TERM, Configuration, Entry, Index, Term
from tidelog.raft.ready import HardState, Ready, Restored, Snapshot


class DumbDisk:
    def __init__(self, storage: bytes, bootstrap: Configuration) -> None:
        self.storage = storage
        self.hard_state = HardState()
        self.bootstrap = bootstrap
        self.snapshot: Snapshot | None = None
        self.entries: list[Entry] = []

    @property
    def base(self) -> tuple[Index, Term]:
        return (NO_INDEX, NO_TERM) if self.snapshot is None else (self.snapshot.index, self.snapshot.term)

    @property
    def last_index(self) -> Index:
        return self.base[0] + len(self.entries)

    def restored(self) -> Restored:
        index, term = self.base
        return Restored(
            configuration=self.bootstrap if self.snapshot is None else self.snapshot.configuration,
            term=self.hard_state.term,
            voted_for=self.hard_state.voted_for,
            snapshot_index=index,
            snapshot_term=term,
            entries=tuple(self.entries),
        )

    def write(self, ready: Ready) -> None:
        if ready.hard_state is not None:
            self.hard_state = ready.hard_state
        if ready.install is not None:
            self.snapshot = ready.install
            self.entries = []
        if ready.truncate_from is not None:
            del self.entries[ready.truncate_from - self.base[0] - 1 :]
        if ready.entries:
            invariant(
                ready.first_index == self.last_index + 1,
                "a gap or an overlap on the disk",
                first=ready.first_index,
                last=self.last_index,
            )
            self.entries += ready.entries

    def save_snapshot(self, snapshot: Snapshot) -> None:
        del self.entries[: snapshot.index - self.base[0]]
        self.snapshot = snapshot


def encode_state(values: list[bytes]) -> bytes:
    return msgspec.msgpack.encode(values)


def decode_state(data: bytes) -> list[bytes]:
    return msgspec.msgpack.decode(data, type=list[bytes])
