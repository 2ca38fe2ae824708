"""Checks every batch of a segment file against its CRC, and finds the next good one behind damage."""

from collections.abc import Iterator
from typing import NamedTuple

from crc32c import crc32c

from tidelog.base.ids import Offset
from tidelog.base.ports import File
from tidelog.storage.segment.offset_index import RELATIVE_MAX
from tidelog.wire.batch import (
    ATTRIBUTES_AT,
    HEADER,
    LENGTH_MIN,
    MAGIC,
    MAGIC_AT,
    BatchHeader,
    read_header,
)

_CHUNK_BYTES = 1 << 20
_ATTRIBUTES_KNOWN = 0x7F


class Good(NamedTuple):
    position: int
    header: BatchHeader


class Bad(NamedTuple):
    position: int
    end: int
    """Where the next good batch begins, or the file ends."""
    why: str
    zeros: bool
    """Nothing but zero bytes: space that was reserved and not written."""


class SegmentScan:
    """Batches must come in the order of their offsets, within reach of the segment's base."""

    def __init__(self, file: File, base: Offset, size: int, ended_at: Offset | None = None) -> None:
        """`ended_at`: where the whole log is known to have ended."""
        self._file = file
        self._base = base
        self._ended_at = ended_at
        self._size = size
        self._chunk = b""
        self._chunk_at = 0

    def run(self, position: int, next_offset: Offset) -> Iterator[Good | Bad]:
        """From `position` to the end of the file: good batches, and the stretches between them."""
        while position < self._size:
            header = self._header_at(position)
            why = self._fault(position, header, next_offset)
            if header is not None and why is None:
                yield Good(position, header)
                position += header.size
                next_offset = header.next_offset
                continue
            end = self._find_good(position, header, next_offset)
            yield Bad(position, end, why or "truncated", end == self._size and self._only_zeros(position))
            position = end

    def _header_at(self, position: int) -> BatchHeader | None:
        at = position - self._chunk_at
        if at < 0 or at + HEADER.size > len(self._chunk):
            self._fill(position)
            at = 0
        return read_header(self._chunk, at) if at + HEADER.size <= len(self._chunk) else None

    def _fill(self, position: int) -> None:
        self._chunk = self._file.read_at(position, min(_CHUNK_BYTES, self._size - position))
        self._chunk_at = position

    def _fault(self, position: int, header: BatchHeader | None, next_offset: Offset) -> str | None:
        """What is wrong with the batch, if anything."""
        if header is None:
            return f"{self._size - position} bytes cannot be a batch"
        if header.magic != MAGIC:
            return f"magic {header.magic}"
        if header.length < LENGTH_MIN or position + header.size > self._size:
            return f"length {header.length} with {self._size - position} bytes left"
        if header.base_offset < next_offset or header.last_offset_delta < 0:
            return f"offsets {header.base_offset} to {header.last_offset} where {next_offset} or more is due"
        if header.last_offset - self._base > RELATIVE_MAX:
            return f"offset {header.last_offset} is out of the reach of the segment"
        if (
            header.base_offset > next_offset
            and self._ended_at is not None
            and header.last_offset >= self._ended_at
        ):
            # No CRC covers the base offset. Without a gap in front of it, it is what was written.
            return f"offset {header.last_offset} in a log that ended at {self._ended_at}"
        if header.attributes & ~_ATTRIBUTES_KNOWN:
            return f"attributes {header.attributes:#x}"
        return None if self._crc(position, header.size) == header.crc else "wrong CRC"

    def _crc(self, position: int, size: int) -> int:
        """A batch may be large, and a length may lie: no more than a chunk is held at a time."""
        at = position - self._chunk_at
        if at + size > len(self._chunk) and size <= _CHUNK_BYTES:
            self._fill(position)
            at = 0
        if at + size <= len(self._chunk):
            return crc32c(memoryview(self._chunk)[at + ATTRIBUTES_AT : at + size])
        crc = 0
        position, end = position + ATTRIBUTES_AT, position + size
        while position < end:
            part = self._file.read_at(position, min(_CHUNK_BYTES, end - position))
            if not part:
                return -1
            crc = crc32c(part, crc)
            position += len(part)
        return crc

    def _find_good(self, bad: int, header: BatchHeader | None, next_offset: Offset) -> int:
        """The position of the first good batch after `bad`; the end of the file where there is none."""
        if header is not None and header.length >= LENGTH_MIN:  # most often only the inside is damaged
            after = bad + header.size
            if after < self._size and self._fault(after, self._header_at(after), next_offset) is None:
                return after
        position = bad + 1
        while position + HEADER.size <= self._size:
            data = self._file.read_at(position, min(_CHUNK_BYTES, self._size - position))
            found = data.find(MAGIC, MAGIC_AT)
            while found >= 0 and found - MAGIC_AT + HEADER.size <= len(data):
                candidate = position + found - MAGIC_AT
                if self._fault(candidate, read_header(data, found - MAGIC_AT), next_offset) is None:
                    return candidate
                found = data.find(MAGIC, found + 1)
            position += max(1, len(data) - HEADER.size)
        return self._size

    def _only_zeros(self, position: int) -> bool:
        while position < self._size:
            part = self._file.read_at(position, min(_CHUNK_BYTES, self._size - position))
            if part.strip(b"\0"):
                return False
            position += len(part)
        return True
