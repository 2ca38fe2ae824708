"""Where a record says which schema it was written with, as Confluent's serializers write it.

before the data   magic byte 0, schema id (4 bytes, big-endian); or magic byte 1, GUID (16 bytes)
in a header       `__key_schema_id` or `__value_schema_id`: the same bytes, and nothing before the data

A Protobuf schema is a file of messages. Behind the id stands which of them it is: a path of indexes, as
zigzag varints with their number first; a single 0 stands for the first message.
"""

import struct
import uuid
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from tidelog.blocking.registry.errors import UndecodableRecord

SchemaKey: TypeAlias = int | str
"""A schema's id, or its GUID as text."""

KEY_HEADER, VALUE_HEADER = "__key_schema_id", "__value_schema_id"
MAGIC_ID, MAGIC_GUID = 0, 1
ID = struct.Struct(">bI")
GUID_BYTES = 16
INDEXES_MAX = 100
"""Deeper than any message lies in its file."""


class Framed(NamedTuple):
    schema: SchemaKey
    data: bytes
    """The encoded value; with a Protobuf schema, the indexes stand before it unless a header has them."""
    in_header: bytes | None = None
    """What follows the id in the header; None where the id stands before the data."""


def framed(
    data: bytes, headers: Iterable[tuple[str, bytes | None]] = (), *, is_key: bool = False
) -> Framed | None:
    """Returns None where a record names no schema. Of several headers the last decides, as for Java's clients
    and for a broker that checks schemas."""
    wanted = KEY_HEADER if is_key else VALUE_HEADER
    named = [value for name, value in headers or () if name == wanted]
    if not named:
        return _identified(data)
    found = _identified(named[-1] or b"")
    return None if found is None else Framed(found.schema, data, found.data)


def _identified(data: bytes) -> Framed | None:
    if len(data) >= ID.size and data[0] == MAGIC_ID:
        return Framed(ID.unpack_from(data)[1], data[ID.size :])
    if len(data) > GUID_BYTES and data[0] == MAGIC_GUID:
        return Framed(str(uuid.UUID(bytes=data[1 : 1 + GUID_BYTES])), data[1 + GUID_BYTES :])
    return None


def prefix(schema_id: int) -> bytes:
    """What stands before the data of a record."""
    return ID.pack(MAGIC_ID, schema_id)


def message_of(found: Framed) -> tuple[tuple[int, ...], bytes]:
    """For a Protobuf schema: the path of indexes to the message, and the data without it."""
    if found.in_header is not None:
        return _indexes(found.in_header)[0], found.data
    path, size = _indexes(found.data)
    return path, found.data[size:]


def indexes_bytes(path: Iterable[int]) -> bytes:
    """The path as it stands behind the id."""
    wanted = tuple(path)
    if wanted == (0,):
        return b"\0"
    return b"".join(map(_zigzag, (len(wanted), *wanted)))


def _indexes(data: bytes) -> tuple[tuple[int, ...], int]:
    count, at = _read_zigzag(data, 0)
    if count == 0:
        return (0,), at
    if not 0 < count <= INDEXES_MAX:
        raise UndecodableRecord(f"its message indexes are {count} in number, which no Protobuf record has")
    path = []
    for _ in range(count):
        index, at = _read_zigzag(data, at)
        path.append(index)
    return tuple(path), at


def _zigzag(value: int) -> bytes:
    left, made = value << 1, bytearray()
    while left > 0x7F:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    made.append(left)
    return bytes(made)


def _read_zigzag(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for place in range(at, min(at + 5, len(data))):
        value |= (data[place] & 0x7F) << shift
        shift += 7
        if data[place] < 0x80:
            return (value >> 1) ^ -(value & 1), place + 1
    raise UndecodableRecord("its message indexes are not whole")
