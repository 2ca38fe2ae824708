"""What opening a log had to repair: for the log lines of a start, and for users that look for their data."""

from dataclasses import dataclass, field

from tidelog.storage.file_names import LOST_RANGE
from tidelog.storage.recovery.lost_range import LostRange


@dataclass(frozen=True, slots=True)
class TornWrite:
    """Bytes at the end of the log that are no batch: a write that a crash tore. Nothing valid followed."""

    file: str
    position: int
    length: int
    why: str

    def __str__(self) -> str:
        return (
            f"truncated {self.length} bytes of an unfinished write from {self.file} at {self.position} "
            f"({self.why})"
        )


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that are no batch, between valid ones or where the log was synced: kept in a file beside it."""

    file: str
    position: int
    length: int
    kept_in: str
    why: str

    def __str__(self) -> str:
        return (
            f"DAMAGED: {self.length} bytes of {self.file} at {self.position} are no batch ({self.why}); "
            f"they are kept in {self.kept_in}, the batches around them stay in the log"
        )


@dataclass(frozen=True, slots=True)
class Gap:
    """The end of a segment never reached the disk, but the next segment did."""

    file: str
    position: int
    first_missing: int
    next_found: int

    def __str__(self) -> str:
        return (
            f"MISSING: offsets {self.first_missing} to {self.next_found - 1}, which should follow in "
            f"{self.file} at {self.position}; they were not flushed when the machine stopped"
        )


@dataclass(frozen=True, slots=True)
class Hole:
    """A crash left batches behind one that is lost. A replica ends before that and gets the rest anew."""

    file: str
    position: int
    length: int
    first_missing: int
    kept_in: str
    why: str

    def __str__(self) -> str:
        return (
            f"truncated {self.length} bytes from {self.file} at {self.position}: offset {self.first_missing} "
            f"is lost ({self.why}), and what follows comes from other replicas; it is kept in {self.kept_in}"
        )


@dataclass(frozen=True, slots=True)
class Loss:
    """Records that were synced are gone. Said at each start, until another replica gave them back."""

    directory: str
    lost: LostRange

    def __str__(self) -> str:
        return (
            f"LOST: {self.directory} misses records of the offsets {self.lost}, which were synced: its files "
            f"were changed or truncated since. The offsets are not given out again. {self._what_next}"
        )

    @property
    def _what_next(self) -> str:
        mark = f"{self.directory}/{LOST_RANGE}"
        if self.lost.is_final:
            return f"The topic has no other replica to get them from. Remove {mark} to hear of it no longer"
        return (
            "This replica gets the records from another one before it may lead; if no other has them, stop "
            f"the broker and remove {mark} to accept the loss"
        )


@dataclass(slots=True)
class RecoveryReport:
    trusts_too_much: bool = False
    """The recovery point that was given lies above the end: the log was truncated, and then the machine
    stopped. A lower one must be written down before unsynced batches are appended there."""
    scanned_bytes: int = 0
    """How much was read and checked against its CRC."""
    torn_writes: list[TornWrite] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)
    rebuilt: list[str] = field(default_factory=list)
    """Index files that were built anew."""
    removed: list[str] = field(default_factory=list)
    """Litter of an earlier crash or deletion."""
    kept: list[str] = field(default_factory=list)
    """Damaged bytes that an earlier recovery set aside, and that are still there."""
    notes: list[str] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.torn_writes or self.damages or self.gaps or self.holes or self.notes or self.losses)

    def lines(self) -> list[str]:
        """The worst first."""
        kept = [
            f"kept from an earlier recovery: {path}; remove it when you need it no longer"
            for path in self.kept
        ]
        found = [*self.losses, *self.damages, *self.gaps, *self.holes, *self.torn_writes]
        return [*map(str, found), *self.notes, *kept]
