"""Snappy as Kafka's Java clients frame it (the xerial stream), and the bare block that librdkafka may send.

The declared size of every block is checked before a byte is allocated for it: it may lie.
"""

import struct
from typing import Final

import cramjam

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ports import Buffer

# Stream header, big-endian, 16 bytes; then blocks, each an i32 length and that many bytes of raw snappy.
#    0  magic        8 bytes  0x82 "SNAPPY" 0x00
#    8  version      i32      1
#   12  readable by  i32      1 and later
# A bare block cannot begin with the magic: its first element would copy from before its own start.
MAGIC: Final = b"\x82SNAPPY\x00"
HEADER: Final = MAGIC + struct.pack(">ii", 1, 1)
BLOCK_BYTES: Final = 32 * 1024

# A copy of up to 64 bytes takes at least three, a literal more than it yields: nothing grows beyond this.
_GROWTH_MAX = 22
_i32 = struct.Struct(">i")


def compress(data: Buffer) -> bytes:
    view = memoryview(data)
    parts = [HEADER]
    for start in range(0, len(view), BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + BLOCK_BYTES]))
        parts += (_i32.pack(len(block)), block)
    return b"".join(parts)


def decompress(data: Buffer, limit: int) -> bytes:
    """May raise what cramjam raises: `wire.compression` turns that into KafkaError."""
    view = memoryview(data)
    if bytes(view[: len(MAGIC)]) != MAGIC:
        return bytes(cramjam.snappy.decompress_raw(_sized(view, limit)))
    if len(view) < len(HEADER):
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "snappy stream ends inside of its header")
    parts = []
    position = len(HEADER)
    while position < len(view):
        start = position + _i32.size
        if start > len(view):
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "snappy stream ends inside of a block length")
        (length,) = _i32.unpack_from(view, position)
        position = start + length
        if length <= 0 or position > len(view):
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"snappy block of {length} bytes in {len(view)}")
        block = bytes(cramjam.snappy.decompress_raw(_sized(view[start:position], limit)))
        limit -= len(block)
        parts.append(block)
    return b"".join(parts)


def _sized(block: memoryview, limit: int) -> memoryview:
    """The block itself, once the size it declares is known to be possible and within `limit`."""
    declared = cramjam.snappy.decompress_raw_len(block)
    if declared > limit:
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"snappy block of {declared} bytes, limit {limit}")
    if declared > len(block) * _GROWTH_MAX:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"{len(block)} bytes of snappy cannot hold the {declared} declared"
        )
    return block
