"""The files that hold the entries of the metadata log: `<first index>.log`, written at the end only.

An entry counts if its index lies between the first of its file and the first of the next. So entries are
replaced by beginning a new file at the first of them, with one rename: a crash leaves the old or the new.
Everything here blocks on the disk, so it runs in a thread, one call at a time.
"""

import logging
from collections.abc import Sequence

from tidelog.base.ids import TimestampMs
from tidelog.base.invariant import invariant
from tidelog.base.ports import Disk, File
from tidelog.metadata.store.entries.batches import encode_entry
from tidelog.raft.entries import Entry, Index
from tidelog.storage.file_names import LOG, file_name
from tidelog.storage.segment.batch_walk import walk

_NEW = ".tmp"

log = logging.getLogger("tidelog.metadata")


class EntryLog:
    def __init__(self, disk: Disk, directory: str, bases: Sequence[Index], end: Index) -> None:
        """The files begin at `bases`; there is none for a new log, which begins at `end`."""
        self._disk = disk
        self._directory = directory
        self._bases = list(bases)
        self._active: File
        self.end = end
        """The index that the next entry gets."""
        if bases:
            self._active = disk.open(self._path(self._bases[-1]))
            self._size = self._active.size()
        else:
            self._begin_file(end, [])

    def append(self, entries: Sequence[Entry], now_ms: TimestampMs, *, roll: bool = False) -> int:
        """Returns the number of bytes written. `roll`: in a new file, so that the previous one can be
        removed."""
        batches = self._encode(self.end, entries, now_ms)
        if roll and self._size:
            self._begin_file(self.end, batches)
        else:
            size = self._active.write_at(self._size, batches)
            self._active.sync()
            self._size += size
        self.end += len(entries)
        return sum(map(len, batches))

    def replace_from(self, index: Index, entries: Sequence[Entry], now_ms: TimestampMs) -> int:
        """Remove the entry at `index` and all that follow; put these there instead."""
        invariant(self._bases[0] <= index <= self.end, "entries replaced outside of the log", index=index)
        self._drop_files(above=index)
        batches = self._encode(index, entries, now_ms)
        self._begin_file(index, batches)
        self._truncate_below_active()
        self.end = index + len(entries)
        return sum(map(len, batches))

    def restart_at(self, index: Index) -> None:
        """Remove everything; the next entry gets `index`. A crash in between leaves some of it."""
        self._drop_files(above=-1)
        self._begin_file(index, [])
        self.end = index

    def drop_below(self, index: Index) -> None:
        """Remove the files that hold nothing at or above `index`."""
        try:
            while len(self._bases) > 1 and self._bases[1] <= index:
                self._disk.remove(self._path(self._bases[0]))
                del self._bases[0]
        except OSError as error:
            log.warning("an old part of the metadata log could not be removed: %s", error)

    def sync(self, last_write_at: int) -> None:
        """After a start: what was read may only be in the page cache, and from now on others act on it.

        The sync of the last write may have failed: the kernel takes for written what it never wrote, so
        its bytes are written once more. All before it was synced before it began.
        """
        if last_write_at < self._size:
            self._active.write_again(last_write_at, self._size - last_write_at)
        self._active.sync()
        self._disk.sync_dir(self._directory)

    def close(self) -> None:
        self._active.close()

    def _encode(self, first: Index, entries: Sequence[Entry], now_ms: TimestampMs) -> list[bytearray]:
        # Each write is synced before the next begins, so all before this one is on stable storage.
        return [
            encode_entry(entry, index, synced_below=first, now_ms=now_ms)
            for index, entry in enumerate(entries, first)
        ]

    def _drop_files(self, above: Index) -> None:
        """The newest first, so that a crash leaves a log; durable, so that none comes back later."""
        if self._bases[-1] <= above:
            return
        while self._bases and self._bases[-1] > above:
            self._disk.remove(self._path(self._bases[-1]))
            del self._bases[-1]
        self._disk.sync_dir(self._directory)

    def _truncate_below_active(self) -> None:
        """Remove replaced entries from the previous file: they would be back when the newest file is
        removed."""
        if len(self._bases) < 2:
            return
        file = self._disk.open(self._path(self._bases[-2]))
        try:
            for position, header in walk(file, 0, file.size()):
                if header.base_offset >= self._bases[-1]:
                    file.truncate(position)
                    file.sync()
                    break
        finally:
            file.close()

    def _begin_file(self, base: Index, batches: Sequence[bytearray]) -> None:
        """It gets its name when its content is durable, in place of one that began at the same index."""
        path = self._path(base)
        file = self._disk.open(path + _NEW, create=True)
        try:
            file.truncate(0)
            self._size = file.write_at(0, batches) if batches else 0
            file.sync()
        finally:
            file.close()
        self._disk.rename(path + _NEW, path)
        self._disk.sync_dir(self._directory)
        if not self._bases or self._bases[-1] != base:
            self._bases.append(base)
        self._active = self._disk.open(path)

    def _path(self, base: Index) -> str:
        return f"{self._directory}/{file_name(base, LOG)}"
