"""The due times of one partition's scheduled records, for all of its share groups, in bounded memory.

The index only says when to look at a record again: the record itself says whether it is due, each time that
it is read. So an index may forget (a full disk), repeat itself, or be made anew, and no record is ever early.
New times go to a heap; a full heap becomes a sorted run, and runs beyond the memory go to a file.
"""

import logging
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple, Protocol

from tidelog.base.ids import Offset, TimestampMs
from tidelog.base.ports import Disk
from tidelog.shares.schedule.due_times import Due
from tidelog.shares.schedule.entries import ENTRY_BYTES, decode, due_ms_at, encode
from tidelog.shares.schedule.memory import ScheduleMemory
from tidelog.shares.schedule.memory_runs import MemoryRuns
from tidelog.shares.schedule.offset_ranges import OffsetRanges
from tidelog.shares.schedule.run_file import RunFile

HEAP_MAX: Final = 4096
HEAP_ENTRY_BYTES: Final = 72
"""Of a small `bytes`, and its place in a list."""
SPILL_RUNS: Final = 16
"""Written at once: a megabyte."""
GARBAGE_BYTES_MIN: Final = 1 << 20
GARBAGE_RATIO: Final = 3
"""A file in which so much more is taken than is left is written anew."""
FILE_RETRY_MS: Final = 60_000
"""After an error of the disk, how long no file is tried."""
_FOREVER: TimestampMs = 2**62

log = logging.getLogger("tidelog.shares.schedule")


class SortedRuns(Protocol):
    @property
    def head_ms(self) -> TimestampMs | None:
        """The earliest time in all of them."""
        ...

    def take(self, until_ms: TimestampMs, bytes_max: int) -> bytes:
        """Take entries up to `until_ms` out of the run that has the earliest; empty where there are none."""
        ...


class Popped(NamedTuple):
    ranges: Sequence[Due] = ()
    is_all: bool = False
    """The index forgot: every scheduled record must be looked at again."""


class DueIndex:
    def __init__(
        self,
        disk: Disk,
        directory: Callable[[], str],
        memory: ScheduleMemory,
        *,
        heap_max: int = HEAP_MAX,
        garbage_bytes_min: int = GARBAGE_BYTES_MIN,
    ) -> None:
        """`directory`: that of the partition, which may move to another log dir."""
        self._disk = disk
        self._directory = directory
        self._memory = memory
        self._heap_max = heap_max
        self._garbage_bytes_min = garbage_bytes_min
        self._heap: list[bytes] = []
        self._runs = MemoryRuns()
        self._files: list[RunFile] = []
        """New runs go to the last. An earlier file is on its way out: its runs come back one by one."""
        self._seen = OffsetRanges()
        self._popped_ms: TimestampMs = -1
        """Of the offsets seen, every later time is in the index."""
        self._forgotten_ms: TimestampMs = _FOREVER
        """Times from this one on are not in the index: then, all must be looked at again."""
        self._no_file_before_ms: TimestampMs = -1
        self._now_ms: TimestampMs = -1
        memory.attach(self)

    def __len__(self) -> int:
        """The number of entries."""
        in_runs = self._runs.size + sum(file.live_bytes for file in self._files)
        return len(self._heap) + in_runs // ENTRY_BYTES

    @property
    def memory_bytes(self) -> int:
        return HEAP_ENTRY_BYTES * len(self._heap) + self._runs.size

    @property
    def file_bytes(self) -> int:
        return sum(file.size for file in self._files)

    @property
    def next_ms(self) -> TimestampMs | None:
        """The time of the next `pop`; None where nothing is scheduled."""
        first = self._forgotten_ms
        if self._heap:
            first = min(first, due_ms_at(self._heap[0]))
        for runs in self._all_runs():
            if runs.head_ms is not None:
                first = min(first, runs.head_ms)
        return None if first == _FOREVER else first

    def add(self, first: Offset, last: Offset, later: Sequence[Due], now_ms: TimestampMs) -> None:
        """Add the times of a batch from `first` to `last`, read at `now_ms`, unless it was added before."""
        self._now_ms = now_ms
        is_seen = self._seen.has(first, last)
        is_changed = False
        for due in later:
            # A clock that went back finds records in the future that it has popped already.
            if (is_seen and due.due_ms > self._popped_ms) or due.due_ms >= self._forgotten_ms:
                continue
            is_changed = True
            for entry in encode(due):
                heappush(self._heap, entry)
        self._seen.add(first, last)
        if is_changed:
            if len(self._heap) >= self._heap_max:
                self._seal()
            self._rewrite()
            self._memory.note(self)
            self._memory.make_room()

    def pop(self, now_ms: TimestampMs, count_max: int) -> Popped:
        """Take entries whose time has come, about `count_max`, in no order; call again until it is empty."""
        self._now_ms = now_ms
        self._popped_ms = max(self._popped_ms, now_ms)
        try:
            if self._forgotten_ms > now_ms:
                taken = self._take(now_ms, count_max)
                self._rewrite()
                self._memory.note(self)
                self._memory.make_room()
                return Popped(tuple(decode(taken)))
        except OSError as error:
            self._disk_failed(error)
        self.forget()
        return Popped(is_all=True)

    def _take(self, now_ms: TimestampMs, count_max: int) -> bytes:
        parts: list[bytes] = []
        left = count_max * ENTRY_BYTES
        while left > 0 and self._heap and due_ms_at(self._heap[0]) <= now_ms:
            parts.append(heappop(self._heap))
            left -= ENTRY_BYTES
        for runs in self._all_runs():
            while left > 0 and (part := runs.take(now_ms, left)):
                parts.append(part)
                left -= len(part)
        self._close_empty()
        return b"".join(parts)

    def forget(self) -> None:
        """Empty the index, as if it had seen nothing: the caller looks at every scheduled record again."""
        for file in self._files:
            file.close()
        self._files.clear()
        self._heap.clear()
        self._runs.clear()
        self._seen.clear()
        self._forgotten_ms = _FOREVER
        self._memory.note(self)

    def close(self) -> None:
        self.forget()
        self._memory.detach(self)

    def _all_runs(self) -> list[SortedRuns]:
        return [self._runs, *self._files]

    # Memory and files

    def _seal(self) -> None:
        """Make a sorted run of the heap."""
        if self._heap:
            self._heap.sort()
            self._runs.append(b"".join(self._heap))
            self._heap.clear()

    def spill(self) -> None:
        """Move some runs to the file: those whose first records are due last."""
        self._seal()
        if self._now_ms >= self._no_file_before_ms:
            try:
                if not self._files:
                    self._files.append(RunFile(self._disk, self._directory()))
                self._files[-1].append(self._runs.latest(SPILL_RUNS))
            except OSError as error:
                self._disk_failed(error)
            else:
                self._runs.drop_latest(SPILL_RUNS)
                return
        self._forgotten_ms = min(self._forgotten_ms, self._runs.forget_latest())

    def _rewrite(self) -> None:
        """Give back the room of what was taken, by and by: a run at a time goes to a new file."""
        if not self._files:
            return
        old = self._files[0]
        if len(self._files) == 1:
            garbage = old.size - old.live_bytes
            if garbage <= max(self._garbage_bytes_min, GARBAGE_RATIO * old.live_bytes):
                return
            if self._now_ms < self._no_file_before_ms:
                return
            try:
                self._files.append(RunFile(self._disk, self._directory()))
            except OSError as error:
                self._disk_failed(error)
                return
        try:
            run = old.take_run()
        except OSError as error:
            self._disk_failed(error)
            self._forgotten_ms = self._now_ms
            return
        for at in range(0, len(run), ENTRY_BYTES):
            heappush(self._heap, run[at : at + ENTRY_BYTES])
        if len(self._heap) >= self._heap_max:
            self._seal()
        self._close_empty()

    def _close_empty(self) -> None:
        for file in [file for file in self._files if file.head_ms is None]:
            if file is self._files[0]:
                self._files.remove(file)
                file.close()

    def _disk_failed(self, error: OSError) -> None:
        self._no_file_before_ms = self._now_ms + FILE_RETRY_MS
        log.error(
            "%s: the times of scheduled records cannot be kept in a file (%s). No record is early; some may "
            "be late, since the broker reads the log again for them. Free some space, or check the disk",
            *(self._directory(), error),
        )
