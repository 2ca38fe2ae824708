"""One fsync of a log, split so that a thread may do the waiting.

`PartitionLog.begin_flush` takes the snapshot, `run` may run anywhere and touches nothing of the log,
`PartitionLog.finish_flush` draws the conclusion.
"""

from typing import NamedTuple

from tidelog.base.ids import Offset
from tidelog.base.ports import Disk, File
from tidelog.storage.file_names import LOG
from tidelog.storage.shortages import is_descriptor_shortage

FilePosition = tuple[Offset, int]
"""(base of the segment, position in its file)."""


class Unsynced:
    """What must become durable besides the active segment's file: paths, in the order they were written."""

    __slots__ = ("_directories", "_files", "_mark")

    def __init__(self) -> None:
        self._mark = 0
        self._files: dict[str, int] = {}
        self._directories: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._files or self._directories)

    def add(self, *files: str, directory: str | None = None) -> None:
        self._mark += 1
        self._files.update(dict.fromkeys(files, self._mark))
        if directory is not None:
            self._directories[directory] = self._mark

    def snapshot(self) -> tuple[int, list[str], list[str]]:
        return self._mark, list(self._files), list(self._directories)

    def mark_synced(self, mark: int) -> None:
        """A flush of the snapshot with this mark has succeeded; what was written again since stays."""
        self._files = {path: at for path, at in self._files.items() if at > mark}
        self._directories = {path: at for path, at in self._directories.items() if at > mark}


class Journaled(NamedTuple):
    """The newest bytes of a log, on their way to the journal instead of a sync of the log's own file."""

    end: Offset
    truncations: int
    start: FilePosition
    data: bytes


class Flush:
    __slots__ = (
        "_active",
        "_directories",
        "_disk",
        "_files",
        "end",
        "error",
        "journal_sequence",
        "mark",
        "seals",
        "truncations",
        "until",
    )

    def __init__(
        self,
        disk: Disk,
        end: Offset,
        truncations: int,
        active: File,
        unsynced: Unsynced,
        *,
        until: FilePosition = (0, 0),
        journal_sequence: int = 0,
    ) -> None:
        self.end = end
        """Everything below is on stable storage once this has run without error."""
        self.until = until
        """The same, as a place in the active segment."""
        self.journal_sequence = journal_sequence
        """Entries of the log in earlier blocks of the journal are not needed any more then."""
        self.truncations = truncations
        self.error: OSError | None = None
        self.mark, self._files, self._directories = unsynced.snapshot()
        self._disk = disk
        self._active = active
        self.seals = any(path.endswith(LOG) and path != active.path for path in self._files)
        """It syncs a segment for good, and not the newest batches alone."""

    @property
    def is_postponed(self) -> bool:
        """No descriptor was free. Nothing is known to be synced, and nothing failed."""
        return is_descriptor_shortage(self.error)

    def run(self) -> None:
        """Never raises: `finish_flush` looks at `error`."""
        try:
            for path in self._files:
                self._sync_path(path)
            self._active.sync()
            for directory in self._directories:
                self._disk.sync_dir(directory)
        except OSError as error:
            self.error = error

    def _sync_path(self, path: str) -> None:
        try:
            file = self._disk.open(path)
        except FileNotFoundError:
            return  # retention or truncation took the segment away in the meantime: nothing left to keep
        try:
            file.sync()
        finally:
            file.close()
