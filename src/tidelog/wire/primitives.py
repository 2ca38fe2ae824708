"""Variable-length numbers, tag sections and the limits that hold for every message.

Generated decoders inline the common one-byte case and call in here for the rest. They read `data[p]` without
looking first: an IndexError or struct.error from a short buffer becomes a ProtocolError in one place.
"""

from collections.abc import Callable
from functools import cache
from struct import Struct
from typing import Any

from tidelog.base.errors import ProtocolError
from tidelog.base.ports import Buffer

STRING_BYTES_MAX = 0x7FFF
"""Kafka's limit for a string, in the flexible encodings too."""

DECODED_BYTES_MAX = 64 * 1024 * 1024
"""How much memory the objects of one decoded message may take, by estimate, apart from the bytes on the wire.

An empty element takes 2 bytes in a frame and over 100 as a Python object; without a limit a frame of 100 MB
would become 10 GB. Each array is charged its count times the estimated weight of an element before the first
one is made. 64 MiB is about 200,000 partitions of a Fetch request or 100,000 of a Metadata response.
"""

PLAIN_BYTES_MAX = 16 * 1024 * 1024
"""The largest message that carries no records. Only records have a reason to be larger than this."""

TAG_WEIGHT = 64
"""What a tagged field is charged against DECODED_BYTES_MAX: skipping it takes time, if no memory."""


def read_uvarint(data: Buffer, position: int) -> tuple[int, int]:
    """An unsigned varint of at most 32 bits, and the position behind it."""
    value = data[position]
    if value < 0x80:
        return value, position + 1
    byte = data[position + 1]
    if byte < 0x80:
        return value & 0x7F | byte << 7, position + 2
    value = value & 0x7F | (byte & 0x7F) << 7
    byte = data[position + 2]
    if byte < 0x80:
        return value | byte << 14, position + 3
    value |= (byte & 0x7F) << 14
    byte = data[position + 3]
    if byte < 0x80:
        return value | byte << 21, position + 4
    value |= (byte & 0x7F) << 21
    byte = data[position + 4]
    if byte < 0x10:
        return value | byte << 28, position + 5
    raise ProtocolError("a varint is larger than 32 bits")


def read_string_length(data: Buffer, position: int) -> tuple[int, int]:
    """The length-plus-one in front of a compact string."""
    value, position = read_uvarint(data, position)
    if value > STRING_BYTES_MAX + 1:
        raise ProtocolError(f"a string of {value - 1} bytes, limit {STRING_BYTES_MAX}")
    return value, position


def uvarint(value: int) -> bytes:
    if value < 0x80:
        return value.to_bytes(1, "big")
    if value > 0xFFFF_FFFF:
        raise ProtocolError(f"{value} does not fit a varint of 32 bits")
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def string_length(value: int) -> bytes:
    if value > STRING_BYTES_MAX + 1:
        raise ProtocolError(f"a string of {value - 1} bytes, limit {STRING_BYTES_MAX}")
    return uvarint(value)


def skip_tags(data: Buffer, position: int, count: int) -> int:
    """Pass over tagged fields that this version does not know. Tags must rise, as the protocol asks."""
    end = len(data)
    last = -1
    for _ in range(count):
        tag, position = read_uvarint(data, position)
        size, position = read_uvarint(data, position)
        position += size
        if tag <= last or position > end:
            raise ProtocolError(f"tagged field {tag} is out of order or cut short")
        last = tag
    return position


NUMBER_FORMATS = {
    "i8": "b",
    "i16": "h",
    "i32": "i",
    "i64": "q",
    "u16": "H",
    "u32": "I",
    "f64": "d",
}

SMALL_ARRAY = 17
"""Arrays of numbers shorter than this have a ready struct; replica lists always do."""


@cache
def array_readers(code: str) -> tuple[Callable[..., tuple[Any, ...]], ...]:
    return tuple(Struct(f">{count}{code}").unpack_from for count in range(SMALL_ARRAY))


@cache
def array_writers(before: str, code: str) -> tuple[Callable[..., bytes], ...]:
    """Packers of what stands before the array, its count included, and then of the array itself."""
    return tuple(Struct(f">{before}{count}{code}").pack for count in range(SMALL_ARRAY))
