"""The fields of a protobuf message, one after the other. Bytes come from anywhere, so each length is checked.

A field is a varint of its number and wire type, then its value:
  0 a varint | 1 eight bytes | 2 a varint of the length, then that many bytes | 5 four bytes
Groups (3 and 4) are older than every message that is read here, and refused.
"""

from collections.abc import Iterator
from typing import NamedTuple

_VARINT_BYTES_MAX = 10


class BadProtobuf(ValueError):
    """The bytes are not a protobuf message."""


class Field(NamedTuple):
    number: int
    start: int
    end: int
    """The bytes of the value, without its length. Those of a varint are `varint`."""
    varint: int = -1
    """-1 for a field that is no varint."""


def fields(data: bytes, start: int, end: int) -> Iterator[Field]:
    at = start
    while at < end:
        tag, at = _varint(data, at, end)
        wire_type = tag & 7
        if wire_type == 2:
            length, at = _varint(data, at, end)
        elif wire_type == 0:
            value_at = at
            value, at = _varint(data, at, end)
            yield Field(tag >> 3, value_at, at, value)
            continue
        elif wire_type == 1:
            length = 8
        elif wire_type == 5:
            length = 4
        else:
            raise BadProtobuf(f"wire type {wire_type} at byte {at}")
        if length > end - at:
            raise BadProtobuf(f"a field of {length} bytes at byte {at}, where {end - at} are left")
        yield Field(tag >> 3, at, at + length)
        at += length


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = 0
    for count in range(_VARINT_BYTES_MAX):
        if at >= end:
            raise BadProtobuf("the message is truncated")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, at
    raise BadProtobuf(f"a number of more than {_VARINT_BYTES_MAX} bytes at byte {at}")
