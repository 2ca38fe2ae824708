"""What passes between Raft and the shell that drives it: `Restored` once, then one `Ready` after the other.

The shell obeys a Ready in this order: hard state, truncation, snapshot and entries onto the disk; sync; then
send the messages; then apply what is committed; then `done`. A message is a promise that the disk must keep.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tidelog.base.ids import NodeId
from tidelog.raft.entries import NO_INDEX, NO_TERM, Configuration, Entry, Index, Term
from tidelog.raft.messages import Addressed


class HardState(NamedTuple):
    """What a node must never forget, or it could vote twice in one term."""

    term: Term = NO_TERM
    voted_for: NodeId | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """What the disk held at the start. `configuration` is the one at the snapshot or, where there is none
    yet, the one the settings name; configuration entries after the snapshot override it."""

    configuration: Configuration
    term: Term = NO_TERM
    voted_for: NodeId | None = None
    snapshot_index: Index = NO_INDEX
    snapshot_term: Term = NO_TERM
    entries: Sequence[Entry] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state after all entries up to and including `index`."""

    index: Index
    term: Term
    configuration: Configuration
    data: bytes


SnapshotSource: TypeAlias = Callable[[], Snapshot | None]
"""The newest snapshot, for a follower that needs entries which are compacted away. None: not now."""


class ReadTicket(NamedTuple):
    number: int


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The result for a ticket: state that includes `index` is fresh. None: leadership was lost, ask again."""

    ticket: ReadTicket
    index: Index | None


@dataclass(slots=True)
class Ready:
    """Everything to do now. `entries` go to the log from `first_index` on, after `truncate_from` and all that
    follows it is removed, and after `install` (if any) has replaced the log."""

    hard_state: HardState | None = None
    truncate_from: Index | None = None
    install: Snapshot | None = None
    first_index: Index = 0
    entries: list[Entry] = field(default_factory=list)
    messages: list[Addressed] = field(default_factory=list)
    committed: list[tuple[Index, Entry]] = field(default_factory=list)
    reads: list[ReadResult] = field(default_factory=list)

    @property
    def must_sync(self) -> bool:
        return (
            self.hard_state is not None
            or self.truncate_from is not None
            or self.install is not None
            or bool(self.entries)
        )

    @property
    def last_index(self) -> Index:
        """The last index on the disk once this is written; meaningful where there are entries."""
        return self.first_index + len(self.entries) - 1
