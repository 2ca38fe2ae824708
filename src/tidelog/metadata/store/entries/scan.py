"""Reads the entries of the metadata log at the start, and refuses a log that lost what was acknowledged.

A partition's log sets damage aside and continues. Metadata must not: a lost record could bring back a deleted
topic, and the quorum could commit another entry in place of one that it had committed. Only an unfinished
write at the end is truncated. Every entry says which entries were durable before it: those must be there.
"""

from collections.abc import Iterator, Sequence

from tidelog.base.errors import StorageError
from tidelog.base.ports import Disk, File
from tidelog.metadata.image.records import NewerFormatError
from tidelog.metadata.store.entries.batches import check_content, decode_entry
from tidelog.metadata.store.torn_write import is_torn
from tidelog.raft.entries import Entry, Index, Term
from tidelog.storage.file_names import LOG, file_name, parse
from tidelog.storage.segment.scan import Bad, Good, SegmentScan


def log_bases(disk: Disk, directory: str) -> list[Index]:
    """The first index of each file, in order."""
    return sorted(parsed[0] for name in disk.names(directory) if (parsed := parse(name)) and parsed[1] == LOG)


class EntryScan:
    """`run` reads everything after the snapshot at `since`; then `entries` and `end` say what there is."""

    def __init__(self, disk: Disk, directory: str, since: Index, since_term: Term) -> None:
        self._disk = disk
        self._directory = directory
        self._since = since
        self._term = since_term
        self.bases = log_bases(disk, directory)
        self.entries: list[Entry] = []
        self.end = since + 1
        """The index that the next entry gets."""
        self.bytes = 0
        """The size of the entries on disk."""
        self.last_write_at = 0
        """Where the last write to the last file begins: all before it was synced before."""
        self.truncated: str | None = None
        """What was truncated at the end, for the broker's log."""
        self._path = self._path_of(self.bases[0] if self.bases else self.end)
        self._position = 0

    def run(self) -> None:
        if not self.bases:
            return
        # Files that lie wholly below the snapshot are not needed, so their state does not matter.
        limits: Sequence[Index | None] = [*self.bases[1:], None]
        needed = [
            (base, limit)
            for base, limit in zip(self.bases, limits, strict=True)
            if limit is None or limit > self._since + 1
        ]
        self.end = needed[0][0]
        self._path = self._path_of(self.end)
        if self.end > self._since + 1:
            raise self._error(
                f"the log begins at index {self.end}, and no readable snapshot reaches up to there",
                "Restore the missing or damaged files of this directory from a backup. " + _AS_A_FOLLOWER,
            )
        for base, limit in needed:
            self._path, self._position, self.last_write_at = self._path_of(base), 0, 0
            self._read_file(base, limit)
        if self.end <= self._since:
            raise self.stops_short(self._since)

    def _read_file(self, base: Index, limit: Index | None) -> None:
        file = self._disk.open(self._path)
        try:
            self._read_entries(file, base, limit)
        finally:
            file.close()
        if limit is not None and self.end < limit:
            raise self._damage(f"the file ends at index {self.end}, and the next begins with {limit}")

    def _read_entries(self, file: File, base: Index, limit: Index | None) -> None:
        """Those below `limit`; the others were replaced by those of the next file."""
        found_all = SegmentScan(file, base, file.size()).run(0, base)
        for found in found_all:
            if limit is not None and self.end >= limit:
                file.truncate(found.position)  # or they would be back when the next file goes
                file.sync()
                return
            self._position = found.position
            if isinstance(found, Good):
                self._take(file, found)
                continue
            vouched = self._vouched_for(file, found_all) if limit is None else limit
            if vouched > self.end:
                raise self._damage(f"{found.why}, and index {self.end} was synced before later ones")
            if not is_torn(file, found, self.end):
                raise self._damage(f"{found.why}, though all of it had been written")
            self._truncate(file, found)
            return

    def _take(self, file: File, found: Good) -> None:
        if found.header.base_offset != self.end:
            raise self._damage(f"index {found.header.base_offset} where {self.end} is expected")
        try:
            stored = decode_entry(file.read_at(found.position, found.header.size))
            entry = stored.entry
            if self.end > self._since:
                check_content(entry)
        except NewerFormatError as error:
            raise NewerFormatError(f"{self._path} at {self._position}: {error}") from error
        except StorageError as error:
            raise self._damage(str(error)) from error
        if stored.synced_below == self.end:
            self.last_write_at = found.position
        if self.end > self._since:
            if entry.term < self._term:
                raise self._damage(f"term {entry.term} after term {self._term}")
            self._term = entry.term
            self.entries.append(entry)
            self.bytes += found.header.size
        self.end += 1

    def _vouched_for(self, file: File, rest: Iterator[Good | Bad]) -> Index:
        """Every entry below this index was durable, according to an entry behind the damage."""
        vouched = 0
        for found in rest:
            if isinstance(found, Good):
                try:
                    stored = decode_entry(file.read_at(found.position, found.header.size))
                except StorageError:
                    continue  # part of the same unfinished write, or damage which the caller finds as well
                vouched = max(vouched, stored.synced_below)
        return vouched

    def _truncate(self, file: File, torn: Bad) -> None:
        size = file.size()
        file.truncate(torn.position)
        self.truncated = (
            f"{self._path} at {torn.position}: truncated {size - torn.position} bytes of an unfinished write"
        )

    @property
    def last_term(self) -> Term:
        return self._term

    def stops_short(self, of: Index, unreadable: Sequence[str] = ()) -> StorageError:
        """The log must reach up to a snapshot, which was taken of what the log held."""
        moved = " and ".join(["all .log files", *unreadable])
        return self._error(
            f"the log ends before index {self.end}, though a snapshot was taken at {of}",
            f"Restore what is missing from a backup. {_AS_A_FOLLOWER} Without either, move {moved} out of "
            "this directory: the broker then goes on with the newest readable snapshot, and what changed "
            "after it is lost.",
        )

    def _path_of(self, base: Index) -> str:
        return f"{self._directory}/{file_name(base, LOG)}"

    def _damage(self, what: str) -> StorageError:
        return self._error(
            f"the metadata log is damaged: {what}",
            f"Restore this directory from a backup. {_AS_A_FOLLOWER} Without either, truncate the file there "
            f"(truncate -s {self._position} {self._path}) and move later .log files out of the directory: "
            f"the broker then goes back to index {self.end}, and loses later changes of topics and settings.",
        )

    def _error(self, what: str, remedy: str) -> StorageError:
        return StorageError(f"{self._path} at {self._position}: {what}. {remedy}")


_AS_A_FOLLOWER = (
    "In a cluster whose other voters are up, move the whole log dir away instead: the broker then comes "
    "back empty and fetches everything from them."
)
