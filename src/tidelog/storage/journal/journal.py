"""The journal of a log dir while the broker runs: which blocks go where, and which of them are still needed.

A block is needed until the file of every log with an entry in it was synced. Entries of a log that is about
to be truncated, compacted or removed are voided before: a replay passes over them. Everything runs on the
loop, except `JournalWrite.run`, `create` and `write_voids`, which may run in a thread.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from tidelog.base.errors import StorageError
from tidelog.base.ports import Disk, File
from tidelog.storage.journal.block import ALIGNMENT, JournalEntry, block_bytes, write_block
from tidelog.storage.journal.files import journal_file, write_voids

SEGMENTS_MAX = 8
SEGMENT_BYTES_MAX = 8 << 20
BYTES_PER_GROUP = 512 << 10
"""So many bytes of a file, which must be zeroed, are worth one group of logs that waited together."""
RETRY_GROUPS = 10_000
"""As many again where there was no room for the file."""
_ZEROS = bytes(1 << 20)

log = logging.getLogger("tidelog.storage.journal")


class JournalSegment:
    __slots__ = ("file", "first", "is_reserved", "last", "position", "users")

    def __init__(self, file: File) -> None:
        self.file = file
        self.is_reserved = file.size() > 0
        """It has its size for good, and blocks replace others in place. Not where it is encrypted: its cells
        do not end where the blocks of its next use do, and a torn one would take a durable block with it."""
        self.position = 0
        self.first = self.last = 0
        """The sequences of its blocks."""
        self.users: dict[str, None] = {}
        """Directories of logs whose own files may lack what the entries here hold."""

    def reuse(self, sequence: int) -> None:
        self.position, self.first = 0, sequence


class JournalWrite:
    """One turn: blocks, each synced before the next is written."""

    __slots__ = ("_blocks", "error", "oldest")

    def __init__(self, oldest: int) -> None:
        self.error: OSError | None = None
        self.oldest = oldest
        self._blocks: list[tuple[JournalSegment, int, bytes]] = []

    def add(self, segment: JournalSegment, data: bytes) -> None:
        self._blocks.append((segment, segment.position, data))
        segment.position += len(data)

    def run(self) -> None:
        """Never raises: `Journal.finish` looks at `error`."""
        try:
            for segment, position, data in self._blocks:
                if position == 0 and not segment.is_reserved:
                    segment.file.truncate(0)
                segment.file.write_at(position, [data])
                segment.file.sync()
        except OSError as error:
            self.error = error


class Journal:
    def __init__(
        self,
        disk: Disk,
        path: str,
        bytes_max: int,
        *,
        new_id: Callable[[], bytes],
        on_begin: Callable[[bytes], None],
        has_room: Callable[[int], bool] = lambda _: True,
        one_writer: AbstractContextManager[Any] | None = None,
    ) -> None:
        """`on_begin` writes down, before the first block, that the log dir has a journal with this id.

        `has_room` says whether a file of so many bytes leaves the log dir enough free space. `one_writer` is
        a lock, where threads may write down what is void.
        """
        self._disk = disk
        self.path = path
        self._new_id, self._on_begin, self._has_room = new_id, on_begin, has_room
        self._id = b""
        self.logs_min = 2
        """Fewer logs that wait at the same time are synced on their own."""
        self.segment_bytes = min(SEGMENT_BYTES_MAX, bytes_max // SEGMENTS_MAX) // ALIGNMENT * ALIGNMENT
        self._segments: list[JournalSegment] = []
        self._current: JournalSegment | None = None
        self._next_sequence = 1
        self._durable_oldest = 1
        """What the last durable block says: a replay begins there."""
        self._last_entries: dict[str, int] = {}
        """The sequence of the last block with an entry of each log."""
        self._voids: dict[str, int] = {}
        self.has_unwritten_voids = False
        self.wants_file_syncs = False
        """A segment is full: see `logs_to_sync`."""
        self._one_writer: AbstractContextManager[Any] = one_writer or nullcontext()
        self.failure: OSError | None = None
        """Why it is not used; see `begin_anew`."""
        self._is_creating = False
        self._groups_until_file = self.segment_bytes // BYTES_PER_GROUP

    @property
    def next_sequence(self) -> int:
        return self._next_sequence

    @property
    def size_bytes(self) -> int:
        return len(self._segments) * self.segment_bytes

    def fits(self, entries_bytes: int) -> bool:
        """Whether entries of so many bytes may share a block; the last sector of a file is kept free."""
        return block_bytes(entries_bytes) <= self.segment_bytes - ALIGNMENT

    # Writing

    def begin(self, entries: Sequence[JournalEntry]) -> JournalWrite | None:
        """A write with these entries; None where there is no room for them yet."""
        size = block_bytes(sum(entry.size for entry in entries))
        write = JournalWrite(0)
        segment = self._current
        if segment is None or segment.position + size > self.segment_bytes - ALIGNMENT:
            segment = self._next_segment(write)
            self.wants_file_syncs = bool(self._segments)
            if segment is None:
                self._groups_until_file -= 1
                return None
            segment.reuse(self._next_sequence)
            self._current = segment
        sequence = self._take_sequence()
        for entry in entries:
            segment.users[entry.directory] = None
            self._last_entries[entry.directory] = sequence
        segment.last = sequence
        write.oldest = self._oldest()
        write.add(segment, write_block(self._id, sequence, write.oldest, entries))
        return write

    def _take_sequence(self) -> int:
        self._next_sequence += 1
        return self._next_sequence - 1

    def _next_segment(self, write: JournalWrite) -> JournalSegment | None:
        """One without a block that a replay needs, or that it would still take for needed."""
        free = [one for one in self._segments if one is not self._current and not one.users]
        if not free:
            return None
        for segment in free:
            if segment.last < self._durable_oldest:
                return segment
        current = self._current
        oldest = self._oldest()
        segment = min(free, key=lambda one: one.last)
        if current is None or segment.last >= oldest or current.position >= self.segment_bytes:
            return None
        # A replay must know that the segment is free before it is overwritten: one more block says so.
        current.last = self._take_sequence()
        write.add(current, write_block(self._id, current.last, oldest, ()))
        return segment

    def _oldest(self) -> int:
        return min(
            (one.first for one in self._segments if one.users or one is self._current),
            default=self._next_sequence,
        )

    def finish(self, write: JournalWrite) -> None:
        if write.error is not None:
            self.failure = write.error
            self.wants_file_syncs = True  # what was acknowledged should not depend on this journal for long
            log.error(
                "the journal of %s cannot be written: %s. Each log is synced on its own, which is slower, "
                "until another journal can take its place",
                *(self.path, write.error),
            )
            return
        self._durable_oldest = write.oldest
        if len(self._last_entries) > 2 * sum(len(one.users) for one in self._segments) + 1000:
            kept = {name: last for name, last in self._last_entries.items() if last >= write.oldest}
            self._last_entries = kept
            self._voids = {name: sequence for name, sequence in self._voids.items() if name in kept}

    # What is needed

    def files_synced(self, directory: str, before: int) -> None:
        """The log's files hold all of its entries in blocks before this sequence."""
        if self._last_entries.get(directory, 0) < before:
            for segment in self._segments:
                segment.users.pop(directory, None)

    def logs_to_sync(self) -> list[str]:
        """Directories of the logs to sync, so that segments of the journal get free."""
        self.wants_file_syncs = False
        growing = self._current if self.failure is None else None
        found = (name for one in self._segments if one is not growing for name in one.users)
        return list(dict.fromkeys(found))

    def mentions(self, directory: str) -> bool:
        """Whether a replay would find entries of this log."""
        last = self._last_entries.get(directory, 0)
        return last >= self._durable_oldest and last >= self._voids.get(directory, 0)

    def void(self, directory: str) -> None:
        """Entries of this log so far do not count, once `write_voids` has returned."""
        if self.mentions(directory):
            self._voids[directory] = self._next_sequence
            self.has_unwritten_voids = True
        for segment in self._segments:
            segment.users.pop(directory, None)

    def write_voids(self) -> None:
        """All that is void so far is durably so when this returns, also where another thread writes it."""
        with self._one_writer:
            if not self.has_unwritten_voids:
                return
            self.has_unwritten_voids = False
            last_entries, oldest = self._last_entries, self._durable_oldest
            voids = {
                name: sequence
                for name, sequence in list(self._voids.items())
                if last_entries.get(name, 0) >= oldest
            }
            try:
                write_voids(self._disk, self.path, voids)
            except OSError:
                self.has_unwritten_voids = True
                raise

    # After a failure

    @property
    def is_unneeded(self) -> bool:
        """Whether the files of the logs hold all that is in it, and no thread works on it."""
        return not self._is_creating and not any(one.users for one in self._segments)

    def begin_anew(self) -> None:
        """A start finds no journal here any more, not even after a crash: use it as if it never failed.

        Sequences go on: a sync of a log that began before knows which entries came later.
        """
        self.close()
        self._id, self.failure = b"", None
        self._durable_oldest = self._next_sequence
        self._last_entries, self._voids = {}, {}
        self.has_unwritten_voids = self.wants_file_syncs = False
        self._groups_until_file = self.segment_bytes // BYTES_PER_GROUP

    # Files

    @property
    def wants_file(self) -> bool:
        return (
            self._groups_until_file <= 0
            and not self._is_creating
            and self.failure is None
            and len(self._segments) < SEGMENTS_MAX
            and self.segment_bytes >= 2 * ALIGNMENT
        )

    def create(self) -> Callable[[], JournalSegment | None]:
        """Returns the job that makes another file; pass its result to `created`."""
        self._is_creating = True
        number = len(self._segments)
        is_first = not self._id
        if is_first:
            self._id = self._new_id()

        def job() -> JournalSegment | None:
            return self._create(number, is_first)

        return job

    def _create(self, number: int, is_first: bool) -> JournalSegment | None:
        path = journal_file(self.path, number)
        may_be_noted = False
        try:
            if not self._has_room(self.segment_bytes):
                return None
            file = self._disk.open(path, create=True)
            file.truncate(0)
            file.allocate(self.segment_bytes)
            # Zeros, where the disk can reserve space at all: a sync then has data to write, and nothing else.
            for position in range(0, file.size(), len(_ZEROS)):
                file.write_at(position, [_ZEROS[: file.size() - position]])
            file.sync()
            self._disk.sync_dir(self.path)
            if is_first:
                with self._one_writer:
                    write_voids(self._disk, self.path, {})
                may_be_noted = True
                self._on_begin(self._id)
        except (OSError, StorageError) as error:
            log.warning("%s cannot be made, so each log is synced on its own: %s", path, error)
            if not may_be_noted:  # else a start would take the file that it looks for as lost
                with suppress(OSError):  # the next start removes it
                    self._disk.remove(path)
            return None
        return JournalSegment(file)

    def created(self, segment: JournalSegment | None) -> None:
        self._is_creating = False
        if segment is None:
            self._groups_until_file = RETRY_GROUPS
            if not self._segments:
                self._id = b""
        else:
            self._segments.append(segment)
            self._groups_until_file = 1  # the next time that none is free

    def close(self) -> None:
        for segment in self._segments:
            segment.file.close()
        self._segments, self._current = [], None
