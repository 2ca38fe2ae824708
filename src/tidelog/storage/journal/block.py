"""The bytes of a journal: blocks, each made durable by one sync, with entries of several logs.

An entry says which bytes a log's file has at a position. A block begins at a multiple of ALIGNMENT and has a
CRC32C; blocks are numbered without a gap, and each names the oldest block that is still needed. The id of the
journal is in every block: a client does not know it, so no record passes for a block.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from crc32c import crc32c

from tidelog.base.ids import Offset, Uuid
from tidelog.base.ports import Buffer

ALIGNMENT = 512
"""What a disk writes at once: no write touches the sector of a block that is durable already."""

_MAGIC = b"TJB1"
_HEADER = struct.Struct(">4s16sIQQ")  # magic, journal id, bytes of the body, sequence, oldest
_CRC = struct.Struct(">I")
_ENTRY = struct.Struct(">H16sQQI")  # bytes of the name, topic id, file, position, bytes of the data

_OVERHEAD = _HEADER.size + _CRC.size


class JournalEntry(NamedTuple):
    directory: str
    """The name of the partition directory."""
    topic_id: Uuid
    base: Offset
    """Of the segment."""
    position: int
    """In the segment's file."""
    data: Buffer

    @property
    def size(self) -> int:
        return _ENTRY.size + len(self.directory) + len(self.data)


class Block(NamedTuple):
    sequence: int
    oldest: int
    """The sequence of the first block that was still needed when this one was written."""
    body: bytes

    def entries(self) -> Iterator[JournalEntry]:
        position, body, data = 0, self.body, memoryview(self.body)
        while position < len(body):
            name_bytes, topic_id, base, at, data_bytes = _ENTRY.unpack_from(body, position)
            position += _ENTRY.size
            name = body[position : position + name_bytes].decode()
            position += name_bytes
            yield JournalEntry(name, topic_id, base, at, data[position : position + data_bytes])
            position += data_bytes


def block_bytes(entries_bytes: int) -> int:
    """What a block takes in a journal with entries of this size."""
    return -(-(_OVERHEAD + entries_bytes) // ALIGNMENT) * ALIGNMENT


def write_block(journal_id: bytes, sequence: int, oldest: int, entries: Sequence[JournalEntry]) -> bytes:
    parts: list[Buffer] = []
    for entry in entries:
        name = entry.directory.encode()
        parts += (
            _ENTRY.pack(len(name), entry.topic_id, entry.base, entry.position, len(entry.data)),
            name,
            entry.data,
        )
    body = b"".join(parts)
    header = _HEADER.pack(_MAGIC, journal_id, len(body), sequence, oldest)
    padding = bytes(-(_OVERHEAD + len(body)) % ALIGNMENT)
    return b"".join((header, _CRC.pack(crc32c(body, crc32c(header))), body, padding))


def find_blocks(data: bytes, journal_id: bytes) -> list[Block]:
    """Every whole block of the journal in these bytes, also behind damage and unfinished writes."""
    found = []
    front = _MAGIC + journal_id
    position = 0
    while position + _OVERHEAD <= len(data):
        block = _block_at(data, position) if data.startswith(front, position) else None
        if block is None:
            position += ALIGNMENT
        else:
            found.append(block)
            position += block_bytes(len(block.body))
    return found


def _block_at(data: bytes, position: int) -> Block | None:
    _, _, length, sequence, oldest = _HEADER.unpack_from(data, position)
    start = position + _OVERHEAD
    if start + length > len(data):
        return None
    body = data[start : start + length]
    header = data[position : position + _HEADER.size]
    if _CRC.unpack_from(data, position + _HEADER.size)[0] != crc32c(body, crc32c(header)):
        return None
    return Block(sequence, oldest, body)
