"""Acquisition locks: which member holds which records, and until when.

A lock is a run of offsets within one chunk. Its member holds those of them whose bits are in the chunk's
`held`: an acknowledgement in the middle takes bits away and leaves the run as it is. Runs never overlap, so a
member that acquires a released record in the middle of a run splits it.
"""

import heapq
from bisect import bisect_right
from collections.abc import Iterator, Set

from tidelog.base.ids import Offset
from tidelog.shares.bitsets import BitSet, span
from tidelog.shares.partition.chunk import CHUNK_SHIFT, IN_CHUNK

STALE_MIN = 1_000


class Lock:
    __slots__ = ("deadline", "first", "last", "member_id", "records")

    def __init__(self, member_id: str, first: Offset, last: Offset, records: int, deadline: float) -> None:
        self.member_id = member_id
        self.first = first
        self.last = last
        self.records = records
        """How many of the run the member still holds. At 0 the lock is over."""
        self.deadline = deadline

    @property
    def bits(self) -> BitSet:
        return span(self.first & IN_CHUNK, self.last & IN_CHUNK)


class ChunkLocks:
    """The locks of one chunk, ascending."""

    __slots__ = ("firsts", "locks")

    def __init__(self) -> None:
        self.firsts: list[Offset] = []
        self.locks: list[Lock] = []


class Locks:
    def __init__(self) -> None:
        self._chunks: dict[int, ChunkLocks] = {}
        self._deadlines: list[tuple[float, int, Lock]] = []
        """A heap; entries of locks that are over or renewed stay until they come up, or become too many."""
        self._pushed = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Lock]:
        for index in sorted(self._chunks):
            yield from self._chunks[index].locks

    def add(self, member_id: str, first: Offset, last: Offset, deadline: float, held: BitSet) -> None:
        """Adds a lock on a run that was available. `held` has the chunk's bits without this run."""
        index = first >> CHUNK_SHIFT
        locks = self._chunks.get(index)
        if locks is None:
            locks = self._chunks[index] = ChunkLocks()
        at = bisect_right(locks.firsts, last)
        if at and locks.locks[at - 1].last >= first:
            self._split(locks, first, held)
            self._split(locks, last + 1, held)
            at = bisect_right(locks.firsts, last)
        self._insert(locks, at, Lock(member_id, first, last, last - first + 1, deadline))

    def others(self, member_id: str, first: Offset, last: Offset) -> bool:
        """Whether any other member holds one of these records, which are in one chunk and all held."""
        locks = self._chunks[first >> CHUNK_SHIFT]
        at = bisect_right(locks.firsts, first) - 1
        for lock in (
            locks.locks[at : bisect_right(locks.firsts, last)] if first != last else (locks.locks[at],)
        ):
            if lock.member_id != member_id:
                return True
        return False

    def drop(self, first: Offset, last: Offset) -> None:
        """Takes records, which are in one chunk and all held, out of their locks."""
        index = first >> CHUNK_SHIFT
        locks = self._chunks[index]
        at = bisect_right(locks.firsts, first) - 1
        while at < len(locks.firsts) and locks.firsts[at] <= last:
            lock = locks.locks[at]
            lock.records -= min(last, lock.last) - max(first, lock.first) + 1
            if lock.records:
                at += 1
            else:
                self._remove(index, locks, at)

    def renew(self, first: Offset, last: Offset, deadline: float, held: BitSet) -> None:
        """Gives records, which are in one chunk and all held, a new deadline."""
        locks = self._chunks[first >> CHUNK_SHIFT]
        self._split(locks, first, held)
        self._split(locks, last + 1, held)
        for at in range(bisect_right(locks.firsts, first) - 1, bisect_right(locks.firsts, last)):
            lock = locks.locks[at]
            if lock.deadline != deadline:  # a second entry with the same deadline would expire it twice
                lock.deadline = deadline
                self._push(lock)

    def next_deadline(self) -> float | None:
        heap = self._deadlines
        while heap:
            deadline, _, lock = heap[0]
            if lock.records and lock.deadline == deadline:
                return deadline
            heapq.heappop(heap)
        return None

    def expired(self, now: float) -> list[Lock]:
        """Returns the locks whose deadline has come. The caller drops them."""
        over = []
        while (deadline := self.next_deadline()) is not None and deadline <= now:
            over.append(heapq.heappop(self._deadlines)[2])
        return over

    def of_members(self, member_ids: Set[str]) -> list[Lock]:
        return [lock for lock in self if lock.member_id in member_ids]

    def remove(self, lock: Lock) -> None:
        index = lock.first >> CHUNK_SHIFT
        locks = self._chunks[index]
        self._remove(index, locks, bisect_right(locks.firsts, lock.first) - 1)

    def forget_below(self, start: Offset, held: BitSet) -> None:
        """Drops the locks of records below `start`. `held` has the bits of that offset's chunk."""
        begin = start >> CHUNK_SHIFT
        for index in [index for index in self._chunks if index < begin]:
            for lock in list(self._chunks[index].locks):
                self.remove(lock)
        locks = self._chunks.get(begin)
        if locks is not None:
            self._split(locks, start, held)
            for lock in [lock for lock in locks.locks if lock.first < start]:
                self.remove(lock)

    def _split(self, locks: ChunkLocks, at_offset: Offset, held: BitSet) -> None:
        """Lets a lock end before `at_offset`, and another begin there. A part without a record is removed."""
        at = bisect_right(locks.firsts, at_offset - 1) - 1
        if at < 0 or (lock := locks.locks[at]).last < at_offset:
            return
        index = lock.first >> CHUNK_SHIFT
        before = (held & span(lock.first & IN_CHUNK, (at_offset - 1) & IN_CHUNK)).bit_count()
        rest = Lock(lock.member_id, at_offset, lock.last, lock.records - before, lock.deadline)
        if rest.records:
            self._insert(locks, at + 1, rest)
        lock.last, lock.records = at_offset - 1, before
        if not before:
            self._remove(index, locks, at)

    def _insert(self, locks: ChunkLocks, at: int, lock: Lock) -> None:
        locks.firsts.insert(at, lock.first)
        locks.locks.insert(at, lock)
        self._count += 1
        self._push(lock)

    def _remove(self, index: int, locks: ChunkLocks, at: int) -> None:
        locks.locks[at].records = 0
        del locks.firsts[at], locks.locks[at]
        self._count -= 1
        if not locks.firsts:
            self._chunks.pop(index, None)

    def _push(self, lock: Lock) -> None:
        self._pushed += 1
        heapq.heappush(self._deadlines, (lock.deadline, self._pushed, lock))
        if len(self._deadlines) > 2 * self._count + STALE_MIN:
            self._deadlines = [
                entry for entry in self._deadlines if entry[2].records and entry[2].deadline == entry[0]
            ]
            heapq.heapify(self._deadlines)
