"""A file of sorted runs without a name: it is removed once it is open, and gone with the process.

So a crash leaves nothing behind, and neither recovery nor a move of the partition nor a listing of its
directory ever meets the file. A crash between the two steps leaves a name that recovery removes.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Final

from tidelog.base.ids import TimestampMs
from tidelog.base.ports import Disk
from tidelog.shares.schedule.entries import ENTRY_BYTES, due_ms_at, end_of

NAME: Final = "share-schedule.tmp"
BLOCK_BYTES: Final = 128 * ENTRY_BYTES
"""Read at once, of a run whose first record is due."""


class FileRun:
    """A sorted run in a file. Only where it is, and the time of its first entry, is in memory."""

    __slots__ = ("end", "head_ms", "position")

    def __init__(self, position: int, end: int, head_ms: TimestampMs) -> None:
        self.position = position
        self.end = end
        self.head_ms = head_ms

    def __lt__(self, other: "FileRun") -> bool:
        return self.head_ms < other.head_ms


class RunFile:
    __slots__ = ("_file", "_runs", "live_bytes", "size")

    def __init__(self, disk: Disk, directory: str) -> None:
        path = f"{directory}/{NAME}"
        self._file = disk.open(path, create=True)
        try:
            self._file.truncate(0)
            disk.remove(path)
        except OSError:
            self._file.close()
            raise
        self._runs: list[FileRun] = []
        """A heap: the run with the earliest time is the first."""
        self.size = 0
        self.live_bytes = 0
        """Without what was taken."""

    @property
    def head_ms(self) -> TimestampMs | None:
        return self._runs[0].head_ms if self._runs else None

    def append(self, runs: Sequence[bytes]) -> None:
        """Write sorted runs at once. After an OSError the file is as before."""
        self._file.write_at(self.size, runs)
        for run in runs:
            heappush(self._runs, FileRun(self.size, self.size + len(run), due_ms_at(run)))
            self.size += len(run)
            self.live_bytes += len(run)

    def take(self, until_ms: TimestampMs, bytes_max: int) -> bytes:
        if not self._runs or self._runs[0].head_ms > until_ms:
            return b""
        run = heappop(self._runs)
        block = self._read(run.position, min(BLOCK_BYTES, run.end - run.position))
        length = min(end_of(block, until_ms), bytes_max)
        run.position += length
        self.live_bytes -= length
        if run.position < run.end:
            rest = block[length:] or self._read(run.position, ENTRY_BYTES)
            run.head_ms = due_ms_at(rest)
            heappush(self._runs, run)
        return block[:length]

    def take_run(self) -> bytes:
        """Take all that is left of some run, in order; empty where there is none."""
        if not self._runs:
            return b""
        run = self._runs.pop()  # the last of a heap: the others still are one
        self.live_bytes -= run.end - run.position
        return self._read(run.position, run.end - run.position)

    def _read(self, position: int, length: int) -> bytes:
        data = self._file.read_at(position, length)
        if len(data) != length:
            raise OSError(f"{len(data)} of {length} bytes of a schedule at {position}")
        return data

    def close(self) -> None:
        self._runs.clear()
        self._file.close()
