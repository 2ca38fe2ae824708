"""Reads a metadata log of the version before the quorum, and refuses one that lost what was acknowledged.

A partition's log sets damage aside and goes on. Metadata must not: a record that vanishes from the middle
could bring back a deleted topic. Only a torn tail is cut, since each append was synced before it was
acknowledged and before the next began: what is torn was never acknowledged.
"""

from collections.abc import Iterator

from tidelog.base.errors import StorageError
from tidelog.base.ids import Offset
from tidelog.base.ports import Disk
from tidelog.metadata.image.records import NewerFormatError, Record
from tidelog.metadata.store.record_batches import decode_batch
from tidelog.storage import file_names
from tidelog.storage.segment.scan import Bad, Good, SegmentScan


class EarlierLogScan:
    """Go through `records` to the end, then `cut_torn_tail`; after that `end` is the log's end."""

    def __init__(self, disk: Disk, directory: str, since: Offset) -> None:
        self._disk = disk
        self._directory = directory
        self._since = since
        self._torn: Bad | None = None
        bases = sorted(
            parsed[0]
            for name in disk.names(directory)
            if (parsed := file_names.parse(name)) and parsed[1] == file_names.LOG
        )
        # Segments that lie wholly below the snapshot are not needed, so their state does not matter.
        above = [*bases[1:], since + 1]
        self._bases = [base for base, next_base in zip(bases, above, strict=False) if next_base > since]
        self._path = self._path_of(self._bases[0] if bases else 0)
        self._position = 0
        self._due = self._bases[0] if bases else since
        self.has_segments = bool(bases)
        self.end = since
        self.count = 0
        """Records from `since` on."""
        self.bytes = 0

    @property
    def where(self) -> str:
        return f"{self._path} at {self._position}"

    def records(self) -> Iterator[Record]:
        if not self._bases:
            return
        if self._due > self._since:
            raise self._error(
                f"the log begins at offset {self._due}, and no readable snapshot reaches up to there",
                "Restore the missing or damaged files of this folder from a backup.",
            )
        for base in self._bases:
            self._path, self._position = self._path_of(base), 0
            if base != self._due:
                raise self._damage(f"the segment begins at offset {base} where {self._due} is due")
            for batch in self._batches(base, is_last=base == self._bases[-1]):
                yield from self._decode(batch)
        # A snapshot is written only when the segment that begins where it ends is durable.
        if self._bases[-1] < self._since:
            raise self._error(
                f"the log stops at {self._due}: no file begins at {self._since}, where a snapshot ends",
                "Restore what is missing from a backup. Without one, move all .log files out of this folder: "
                "the broker then goes on with the snapshot, and what changed after it is lost.",
            )
        self.end = self._due

    def cut_torn_tail(self) -> str | None:
        """What was cut, for the log of the broker."""
        torn = self._torn
        if torn is None:
            return None
        file = self._disk.open(self._path)
        try:
            file.truncate(torn.position)
            file.sync()
        finally:
            file.close()
        return f"{self._path} at {torn.position}: cut {torn.end - torn.position} bytes of an unfinished write"

    def _batches(self, base: Offset, *, is_last: bool) -> Iterator[bytes]:
        """The batches of a segment that are not part of the snapshot."""
        file = self._disk.open(self._path)
        try:
            size = file.size()
            for found in SegmentScan(file, base, size).run(0, base):
                self._position = found.position
                if isinstance(found, Good):
                    header = found.header
                    if header.base_offset != self._due:
                        raise self._damage(f"offset {header.base_offset} where {self._due} is due")
                    if header.next_offset > self._since:
                        self.bytes += header.size
                        yield file.read_at(found.position, header.size)
                    self._due = header.next_offset
                elif is_last and found.end == size:
                    self._torn = found
                else:
                    raise self._damage(found.why)
        finally:
            file.close()

    def _decode(self, batch: bytes) -> Iterator[Record]:
        try:
            records = decode_batch(batch)
        except NewerFormatError as error:
            raise NewerFormatError(f"{self.where}: {error}") from error
        except StorageError as error:
            raise self._damage(str(error)) from error
        self.count += len(records)
        yield from records  # type: ignore[misc]  # a snapshot's own records are refused when applied

    def _path_of(self, base: Offset) -> str:
        return f"{self._directory}/{file_names.file_name(base, file_names.LOG)}"

    def _damage(self, what: str) -> StorageError:
        return self._error(
            f"the metadata log is damaged: {what}",
            "Restore the file from a backup. Without one, cut it there "
            f"(truncate -s {self._position} {self._path}) and move later .log files out of the folder: the "
            f"broker then goes back to offset {self._due}, and later changes of topics and settings are "
            "lost.",
        )

    def _error(self, what: str, remedy: str) -> StorageError:
        return StorageError(f"{self.where}: {what}. {remedy}")
