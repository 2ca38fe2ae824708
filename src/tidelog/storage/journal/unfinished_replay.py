"""What a start could not put back, since the files of some logs fail. The journal stays until it is.

Entries of all other logs are void, and durably so before their files change: the next start passes over them.
"""

from collections.abc import Mapping, Sequence

from tidelog.base.ids import Uuid
from tidelog.base.ports import Disk
from tidelog.storage.journal import files
from tidelog.storage.journal.block import JournalEntry
from tidelog.storage.journal.put_back import put_back, sync


class UnfinishedReplay:
    """`finish` and `write_voids` may run in a thread, one at a time."""

    __slots__ = ("_disk", "_entries", "_has_unwritten_voids", "_log_dir", "_next_sequence", "_voids")

    def __init__(
        self,
        disk: Disk,
        log_dir: str,
        entries: Mapping[str, Sequence[JournalEntry]],
        voids: Mapping[str, int],
        next_sequence: int,
    ) -> None:
        """`entries` by the names of their directories; `voids` so far; the sequence behind the last block."""
        self._disk = disk
        self._log_dir = log_dir
        # Copies: each is a view of a block, with entries of other logs.
        self._entries = {
            name: [entry._replace(data=bytes(entry.data)) for entry in some] for name, some in entries.items()
        }
        self._voids = dict(voids)
        self._next_sequence = next_sequence
        self._has_unwritten_voids = True

    def __bool__(self) -> bool:
        return bool(self._entries)

    def finish(self, name: str, topic_id: Uuid | None) -> None:
        """Before the log in this directory is opened; raises OSError while its files fail."""
        entries = self._entries.get(name)
        if entries is None:
            return
        sync(self._disk, put_back(self._disk, f"{self._log_dir}/{name}", topic_id, entries)[1])
        self._voids[name] = self._next_sequence
        self._has_unwritten_voids = True
        self.write_voids()
        self._entries.pop(name, None)

    def drop(self, name: str) -> None:
        """The log was removed, or another takes its name after the next `write_voids`."""
        if self._entries.pop(name, None) is not None:
            self._voids[name] = self._next_sequence
            self._has_unwritten_voids = True

    def write_voids(self) -> None:
        """All that is void so far is durably so when this returns."""
        if not self._has_unwritten_voids:
            return
        self._has_unwritten_voids = False
        try:
            files.write_voids(self._disk, self._log_dir, self._voids.copy())
        except OSError:
            self._has_unwritten_voids = True
            raise
