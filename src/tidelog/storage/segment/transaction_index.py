"""The aborted transactions of one segment: Kafka's `.txnindex` file, in the order of their markers.

A reader of committed records gets those that overlap with what it reads, and leaves their records out. There
is no such file while a segment has no abort marker.
"""

import struct
from bisect import bisect_left
from typing import NamedTuple

from tidelog.base.ids import Offset, ProducerId
from tidelog.storage.segment.offset_index import CorruptIndex

# An entry, big-endian, 34 bytes:
#   version      i16  0
#   producer_id  i64
#   first        i64  offset where the transaction begins
#   last         i64  offset of the marker, which lies in this segment
#   stable       i64  the last stable offset that the marker led to
ENTRY = struct.Struct(">hqqqq")
_VERSION = 0


class Aborted(NamedTuple):
    producer_id: ProducerId
    first: Offset
    last: Offset
    stable: Offset


class TransactionIndex:
    __slots__ = ("_lasts", "entries")

    def __init__(self, entries: list[Aborted]) -> None:
        self.entries = entries
        self._lasts = [entry.last for entry in entries]

    @classmethod
    def load(cls, base: Offset, raw: bytes) -> "TransactionIndex":
        """From the bytes of a file, or CorruptIndex."""
        if len(raw) % ENTRY.size:
            raise CorruptIndex(f"{len(raw)} bytes are not a multiple of {ENTRY.size}")
        entries = []
        below = base - 1
        for version, *numbers in ENTRY.iter_unpack(raw):
            entry = Aborted(*numbers)
            if version != _VERSION or not (below < entry.last and 0 <= entry.first <= entry.last):
                raise CorruptIndex(f"version {version}, {entry} after offset {below}")
            below = entry.last
            entries.append(entry)
        return cls(entries)

    @classmethod
    def load_below(cls, base: Offset, raw: bytes, end: Offset) -> "TransactionIndex":
        """What is right in the bytes of a file that a crash may have harmed, of the markers below `end`."""
        index = cls([])
        for at in range(0, len(raw) - ENTRY.size + 1, ENTRY.size):
            try:
                [entry] = cls.load(base, raw[at : at + ENTRY.size]).entries
            except CorruptIndex:
                break
            if entry.last >= end or (index._lasts and entry.last <= index._lasts[-1]):
                break
            index.add(entry)
        return index

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, entry: Aborted) -> None:
        self.entries.append(entry)
        self._lasts.append(entry.last)

    def truncate(self, end: Offset) -> None:
        """The log now ends at `end`."""
        kept = bisect_left(self._lasts, end)
        del self.entries[kept:], self._lasts[kept:]

    def between(self, start: Offset, end: Offset, found: list[Aborted]) -> bool:
        """Add those that overlap with `start` up to `end`; whether that is all of them in the whole log."""
        for number in range(bisect_left(self._lasts, start), len(self.entries)):
            entry = self.entries[number]
            if entry.first < end:
                found.append(entry)
            if entry.stable >= end:
                return True  # all that begin below were decided by then
        return False

    def dump(self, first: int = 0) -> bytes:
        """The entries from number `first` on, as they are in the file."""
        return b"".join(ENTRY.pack(_VERSION, *entry) for entry in self.entries[first:])
