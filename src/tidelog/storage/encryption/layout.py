"""The bytes of an encrypted file: blocks of a fixed size, filled with cells as the file is appended to.

  block   64 KiB of the file. It begins with a block header, the first block with two of the same: whichever
          of them is whole names the key. A cell never crosses the end of a block.
  cell    what one write put there: a header in the clear, and its bytes under AES-256-GCM.

A write only ever adds cells behind the others, so a power cut leaves a prefix, as it does in a plain file.
Cells know where their bytes belong in the plain file ("start"), so the block that holds a position is found
by a binary search. A cell that starts below the end of the cell before it shortens that one: that is
how a file is truncated in the middle of a cell, whose bytes may be on stable storage already.
"""

import struct
from bisect import bisect_right
from typing import NamedTuple

from crc32c import crc32c

from tidelog.base.ports import File
from tidelog.storage.log_dir.encryption_marks import ENCRYPTED_MAGIC as MAGIC

BLOCK_BYTES = 64 * 1024

# Block header, big-endian, 32 bytes:
#   magic   4 bytes
#   key id  8 bytes  the data key of the log dir that the key of this file is derived from
#   salt   16 bytes  what else it is derived from: each file has a key of its own
#   crc     u32      CRC32C of all that is above
_BLOCK_HEADER = struct.Struct(">4s8s16sI")
BLOCK_HEADER_BYTES = _BLOCK_HEADER.size
FIRST_HEADERS_BYTES = 2 * BLOCK_HEADER_BYTES

_PROBED_BLOCKS = 4
"""So many blocks must have lost their header before a file passes for one that is not encrypted."""

# Cell, big-endian:
#   length  u32       of the plain bytes; 0 in a cell that only shortens the one before it
#   start   u64       position of the first plain byte in the plain file
#   nonce   12 bytes  never used twice under one key
#   crc     u32       CRC32C of all that is above: damage to the content does not hide the cells behind it
#   content           `length` encrypted bytes, then the tag of 16 bytes
_CELL_HEADER = struct.Struct(">IQ12sI")
_CELL_FRONT = struct.Struct(">IQ12s")
_CRC = struct.Struct(">I")
CELL_HEADER_BYTES = _CELL_HEADER.size
TAG_BYTES = 16
NONCE_AT = 12
NONCE_BYTES = 12
CELL_OVERHEAD_BYTES = CELL_HEADER_BYTES + TAG_BYTES
SECTOR_BYTES = 512
SMALL_ROOM_BYTES = 512
"""A cell that would have to be smaller than this to fit its block begins the next block instead."""

# What the tag covers besides the content: length and start as above, and the place of the cell in the file.
_BOUND = struct.Struct(">IQQ")


class FileKeyId(NamedTuple):
    """What names the key of a file: the rest is secret."""

    data_key: bytes
    salt: bytes


class Cell(NamedTuple):
    start: int
    stop: int
    """Of the plain bytes that count; a later cell may have shortened it."""
    position: int
    """Of the cell's first byte in the encrypted file."""
    length: int

    @property
    def end(self) -> int:
        return self.position + CELL_OVERHEAD_BYTES + self.length


def block_header(key: FileKeyId) -> bytes:
    front = MAGIC + key.data_key + key.salt
    return front + _CRC.pack(crc32c(front))


def read_block_header(raw: bytes, at: int = 0) -> FileKeyId | None:
    """None where there is no whole one. The magic may be damaged: the CRC counts it as it must be."""
    if len(raw) - at < BLOCK_HEADER_BYTES:
        return None
    _, data_key, salt, crc = _BLOCK_HEADER.unpack_from(raw, at)
    return FileKeyId(data_key, salt) if crc == crc32c(MAGIC + data_key + salt) else None


def find_key(raw: File) -> FileKeyId | None:
    """The key of a file that is encrypted; None for every other. Damage to its first headers is survived."""
    size = raw.size()
    front = raw.read_at(0, FIRST_HEADERS_BYTES) if size else b""
    found = read_block_header(front) or read_block_header(front, BLOCK_HEADER_BYTES)
    for block in range(1, _PROBED_BLOCKS):
        if found is not None or block * BLOCK_BYTES >= size:
            break
        found = read_block_header(raw.read_at(block * BLOCK_BYTES, BLOCK_HEADER_BYTES))
    return found


def front_bytes(block: int) -> int:
    """Of the headers that a block begins with."""
    return BLOCK_HEADER_BYTES if block else FIRST_HEADERS_BYTES


def cell_header(length: int, start: int, nonce: bytes) -> bytes:
    front = _CELL_FRONT.pack(length, start, nonce)
    return front + _CRC.pack(crc32c(front))


def bound(length: int, start: int, position: int) -> bytes:
    return _BOUND.pack(length, start, position)


def read_cells(raw: bytes | memoryview, block: int) -> list[Cell]:
    """The cells in the bytes of a block, whole or as far as it is written, with damage left out."""
    cells: list[Cell] = []
    first = block * BLOCK_BYTES
    at = front_bytes(block)
    last = len(raw) - CELL_OVERHEAD_BYTES
    while at <= last:
        length, start, _, crc = _CELL_HEADER.unpack_from(raw, at)
        if crc != crc32c(raw[at : at + CELL_HEADER_BYTES - 4]) or at + length > last:
            found = _next_cell(raw, at + 1)
            if found < 0:
                break
            at = found
            continue
        if cells and start < cells[-1].stop:
            cells[-1] = cells[-1]._replace(stop=max(start, cells[-1].start))
        cells.append(Cell(start, start + length, first + at, length))
        at += CELL_OVERHEAD_BYTES + length
    return cells


def read_start(raw: bytes, block: int) -> int | None:
    """Where the first cell of a block starts, from its first bytes; None where that cell is damaged."""
    at = front_bytes(block)
    if len(raw) < at + CELL_HEADER_BYTES:
        return None
    _, start, _, crc = _CELL_HEADER.unpack_from(raw, at)
    return int(start) if crc == crc32c(raw[at : at + CELL_HEADER_BYTES - 4]) else None


def _next_cell(raw: bytes | memoryview, at: int) -> int:
    """Where the next whole cell begins behind damage; -1 where there is none."""
    if not bytes(raw[at:]).strip(b"\0"):  # most often nothing was written there
        return -1
    last = len(raw) - CELL_OVERHEAD_BYTES
    while at <= last:
        length, _, _, crc = _CELL_HEADER.unpack_from(raw, at)
        if length <= last - at and crc == crc32c(raw[at : at + CELL_HEADER_BYTES - 4]):
            return at
        at += 1
    return -1


def cell_at(cells: list[Cell], position: int) -> int:
    """The number of the last cell that starts at or before a position of the plain file; -1: none does."""
    return bisect_right(cells, position, key=lambda cell: cell.start) - 1


def is_torn(raw: bytes | memoryview, at: int, end: int) -> bool:
    """Whether a write of these bytes of a block is unfinished: a sector of zeros is what had not arrived.

    Encrypted bytes that are all there, and wrong, were changed after they had been written.
    """
    while at < end:
        stop = min(at + SECTOR_BYTES - at % SECTOR_BYTES, end)
        if not bytes(raw[at:stop]).strip(b"\0"):
            return True
        at = stop
    return False


def damaged_tail(raw: bytes | memoryview, block: int, cells: list[Cell]) -> Cell | None:
    """A cell at the end of the last block whose header was damaged after it had been written; its start is
    not known. None where nothing is there, or what a torn write left."""
    at = cells[-1].end - block * BLOCK_BYTES if cells else front_bytes(block)
    length = len(raw) - at - CELL_OVERHEAD_BYTES
    if length <= 0 or is_torn(raw, at, len(raw)) or _is_begun(raw, at):
        return None
    return Cell(0, length, block * BLOCK_BYTES + at, length)


def _is_begun(raw: bytes | memoryview, at: int) -> bool:
    """A whole header with less behind it than it says: the rest of the write never came."""
    (crc,) = _CRC.unpack_from(raw, at + CELL_HEADER_BYTES - 4)
    return bool(crc == crc32c(raw[at : at + CELL_HEADER_BYTES - 4]))
