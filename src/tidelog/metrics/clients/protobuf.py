"""The fields of a protobuf message, one after the other. Bytes come from anywhere, so each length is checked.

A field is a varint of its number and wire type, then its value:
  0 a varint | 1 eight bytes | 2 a varint of the length, then that many bytes | 5 four bytes
Groups (3 and 4) are older than every message that is read here, and refused.
"""

from collections.abc import Iterator

FIELDS_MAX = 500
_VARINT_BYTES_MAX = 10

Field = tuple[int, int, int, int]
"""Its number, where the value begins and ends, without its length, and a varint's value; -1 for others.

A plain tuple: a push has thousands of them.
"""


class BadProtobuf(ValueError):
    """The bytes are not a protobuf message."""


def fields(data: bytes, start: int, end: int) -> list[Field]:
    """All fields of a small message."""
    found: list[Field] = []
    for field in each_field(data, start, end):
        if len(found) == FIELDS_MAX:
            raise BadProtobuf(f"a message of more than {FIELDS_MAX} fields at byte {start}")
        found.append(field)
    return found


def each_field(data: bytes, start: int, end: int) -> Iterator[Field]:
    """The fields of a message of any size."""
    at = start
    while at < end:
        tag = data[at]
        at += 1
        if tag >= 0x80:  # nearly all tags and lengths are of one byte
            tag, at = _varint(data, at - 1, end)
        wire_type = tag & 7
        if wire_type == 2:
            if at >= end:
                raise BadProtobuf("the message is truncated")
            length = data[at]
            at += 1
            if length >= 0x80:
                length, at = _varint(data, at - 1, end)
        elif wire_type == 0:
            begin = at
            value, at = _varint(data, at, end)
            yield tag >> 3, begin, at, value
            continue
        elif wire_type == 1:
            length = 8
        elif wire_type == 5:
            length = 4
        else:
            raise BadProtobuf(f"wire type {wire_type} at byte {at}")
        if length > end - at:
            raise BadProtobuf(f"a field of {length} bytes at byte {at}, where {end - at} are left")
        yield tag >> 3, at, at + length, -1
        at += length


def check_bytes(number: int, begin: int, varint: int) -> None:
    """Refuses a number in the place of bytes."""
    if varint != -1:
        raise BadProtobuf(f"field {number} at byte {begin} is a number")


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
