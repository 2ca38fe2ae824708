"""Distinguishes an entry that a crash left half-written from a complete one that was damaged later.

A crash leaves a write short, or with sectors of zeros where it had not arrived. A batch of which every sector
is there, and which is wrong all the same, was changed afterwards.
"""

from crc32c import crc32c

from tidelog.base.ports import File
from tidelog.raft.entries import Index
from tidelog.storage.segment.scan import Bad
from tidelog.wire.batch import ATTRIBUTES_AT, HEADER, LENGTH_MIN, MAGIC, BatchHeader, read_header

SECTOR_BYTES = 512
_OFFSET_BYTES = 8
_DAMAGED_HEADER = b"\xff" * HEADER.size
"""What an encrypted file shows for bytes that had all been written, and were changed afterwards."""


def is_torn(file: File, bad: Bad, due: Index) -> bool:
    """Whether the bytes at `bad`, where the entry with the index `due` should be, are an unfinished write."""
    stretch = file.read_at(bad.position, bad.end - bad.position)
    if len(stretch) < HEADER.size:
        return True
    if stretch.startswith(_DAMAGED_HEADER):
        return False
    header = read_header(stretch)
    looks_right = header.magic == MAGIC and header.base_offset == due and header.length >= LENGTH_MIN
    end = min(header.size, len(stretch)) if looks_right else len(stretch)
    if _has_hole(stretch[:end], bad.position, due):
        return True
    is_all_there = looks_right and header.size <= len(stretch)
    return not is_all_there and not _is_body_whole(stretch, header)


def _has_hole(batch: bytes, position: int, due: Index) -> bool:
    """A sector, or the batch's part of one, that holds only zeros where something else is due."""
    zeros_due = _OFFSET_BYTES - (due.bit_length() + 7) // 8  # the offset's first bytes are zeros in any case
    start = 0
    while start < len(batch):
        stop = min(start + SECTOR_BYTES - (position + start) % SECTOR_BYTES, len(batch))
        if stop > zeros_due and not batch[start:stop].strip(b"\0"):
            return True
        start = stop
    return False


def _is_body_whole(stretch: bytes, header: BatchHeader) -> bool:
    """The CRC covers neither length nor offset: if it fits, one of those was changed after the write."""
    return crc32c(stretch[ATTRIBUTES_AT:]) == header.crc
