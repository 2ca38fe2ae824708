"""The headers that hold a record back: `tidelog-deliver-at` (epoch ms) and `tidelog-delay` (ms), as text.

Nearly no batch has them, so batches are first searched for `MARK`, with which both names begin. It may stand
in a value by chance: `read_delays` walks the records, and looks at headers alone.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

from tidelog.base.ids import Offset, TimestampMs
from tidelog.wire.batch import BatchHeader
from tidelog.wire.record_body import HEADERS_MAX
from tidelog.wire.varint import read_varint, read_varlong

DELIVER_AT: Final = b"tidelog-deliver-at"
DELAY: Final = b"tidelog-delay"
MARK: Final = b"tidelog-de"

_NULL = 1
"""The length -1, as a variable-length number."""
_DIGITS_MAX = 18
"""Of a number; the year 30 million is far enough."""

Timed: TypeAlias = tuple[Offset, TimestampMs, bytes | None, bytes | None]
"""Offset and timestamp of a record, and the texts of its headers DELIVER_AT and DELAY."""


def read_number(text: bytes) -> int | None:
    """The digits of a header as a number; None for all else, a sign included."""
    return int(text) if text.isdigit() and len(text) <= _DIGITS_MAX else None


def read_delays(data: bytes, header: BatchHeader) -> Iterator[Timed]:
    """Each record in the uncompressed `data` of a batch; IndexError or ValueError where it is damaged.

    One-byte numbers are decoded in place: a leader that loads a share partition reads millions of records.
    """
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.is_log_append_time else None
    size = len(data)
    position = 0
    mark = data.find(MARK)
    headers_left = HEADERS_MAX
    deliver_at: bytes | None
    delay: bytes | None
    for _ in range(header.record_count):
        byte = data[position]
        if byte < 128:
            length = byte >> 1 ^ -(byte & 1)
            position += 1
        else:
            length, position = read_varint(data, position)
        end = position + length
        if length < 0 or end > size:
            raise ValueError(f"a record of {length} bytes with {size - position} left")
        byte = data[position + 1]
        if byte < 128:
            timestamp = byte >> 1 ^ -(byte & 1)
            position += 2
        else:
            timestamp, position = read_varlong(data, position + 1)
        byte = data[position]
        if byte < 128:
            offset = byte >> 1 ^ -(byte & 1)
            position += 1
        else:
            offset, position = read_varint(data, position)
        deliver_at = delay = None
        if 0 <= mark < end:
            deliver_at, delay, headers_left = _headers(data, position, end, headers_left)
            mark = data.find(MARK, end)
        yield (
            base_offset + offset,
            base_timestamp + timestamp if append_time is None else append_time,
            deliver_at,
            delay,
        )
        position = end


def _headers(data: bytes, position: int, end: int, count_max: int) -> tuple[bytes | None, bytes | None, int]:
    """The texts of a record's two headers, and the number of headers that are left of `count_max`.

    The length of the record's key is at `position`. Of a header that is repeated the last counts, as it does
    for Kafka's clients: they append.
    """
    for _ in range(2):  # the key and the value
        if data[position] == _NULL:
            position += 1
        else:
            length, position = read_varint(data, position)
            position += _checked(length)
    deliver_at = delay = None
    count, position = read_varint(data, position)
    if not 0 <= count <= count_max:
        raise ValueError(f"{count} headers, the limit is {HEADERS_MAX} in a batch")
    for _ in range(count):
        length, position = read_varint(data, position)
        name = data[position : position + _checked(length)]
        position += length
        if data[position] == _NULL:
            length, position = 0, position + 1
        else:
            length, position = read_varint(data, position)
        text = data[position : position + _checked(length)]
        position += length
        if position > end:
            raise ValueError("a header that ends beyond its record")
        if name == DELIVER_AT:
            deliver_at = text
        elif name == DELAY:
            delay = text
    return deliver_at, delay, count_max - count


def _checked(length: int) -> int:
    if length < 0:
        raise ValueError(f"a field of {length} bytes")
    return length
