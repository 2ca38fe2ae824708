"""The bytes of records between a batch's header and its end, uncompressed.

Correct first, then as fast as plain Python gets: compaction and `log dump` read every record of a log.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from tidelog.base.ids import Offset, TimestampMs
from tidelog.wire.batch import BatchHeader
from tidelog.wire.varint import encode_varint, read_varint, read_varlong

# Header keys are text, but nothing on the way checked them: this keeps foreign bytes as they were.
_NULL = encode_varint(-1)
_ANY_TEXT = "surrogateescape"
_TIME_MAX = 2**63 - 1
HEADERS_MAX = 1_000_000
"""In one batch. Compressed, as many fit into a kilobyte; in memory each takes a hundred bytes."""

Headers = list[tuple[str, bytes | None]]


class Record(NamedTuple):
    offset: Offset
    timestamp: TimestampMs
    key: bytes | None
    value: bytes | None
    headers: Headers = []  # noqa: RUF012  never changed in place: a tuple's default is shared


# A NamedTuple's own constructor is a Python function; this one is not.
_new = partial(tuple.__new__, Record)


# A record; every number is a zigzag varint, the timestamp delta of 64 bits, the others of 32:
#   length, attributes (one plain byte, unused), timestamp delta, offset delta,
#   key length (-1: null), key, value length (-1: null), value,
#   header count, then for each: key length, key, value length (-1: null), value
def parse_records(data: bytes, header: BatchHeader) -> tuple[list[Record], int]:  # noqa: PLR0915
    """The declared number of records, and where they end; IndexError or ValueError where that is a lie.

    Slices past the end of `data` come out short without an error, but move `position` past the record's end.
    One-byte numbers are decoded in place: they are the rule, and a call costs more than all the rest.
    """
    base_offset = header.base_offset
    base_timestamp = header.base_timestamp
    append_time = header.max_timestamp if header.is_log_append_time else None
    size = len(data)
    records: list[Record] = []
    append = records.append
    new = _new
    time_max, time_min = _TIME_MAX, ~_TIME_MAX
    headers_left = HEADERS_MAX
    if header.record_count < 0:
        raise ValueError(f"a record count of {header.record_count}")
    position = 0
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
        position += 1
        byte = data[position]
        if byte < 128:
            timestamp = byte >> 1 ^ -(byte & 1)
            position += 1
        else:
            timestamp, position = read_varlong(data, position)
        byte = data[position]
        if byte < 128:
            offset = byte >> 1 ^ -(byte & 1)
            position += 1
        else:
            offset, position = read_varint(data, position)
        byte = data[position]
        if byte < 128:
            length = byte >> 1 ^ -(byte & 1)
            position += 1
        else:
            length, position = read_varint(data, position)
        if length >= 0:
            key = data[position : position + length]
            position += length
        elif length == -1:
            key = None
        else:
            raise ValueError(f"a key of {length} bytes")
        byte = data[position]
        if byte < 128:
            length = byte >> 1 ^ -(byte & 1)
            position += 1
        else:
            length, position = read_varint(data, position)
        if length >= 0:
            value = data[position : position + length]
            position += length
        elif length == -1:
            value = None
        else:
            raise ValueError(f"a value of {length} bytes")
        if data[position]:
            headers, position = parse_headers(data, position, headers_left)
            headers_left -= len(headers)
        else:
            headers = []
            position += 1
        if position != end:
            raise ValueError(f"a record whose fields end {position - end} bytes from its end")
        if append_time is None:
            timestamp += base_timestamp
            if timestamp > time_max or timestamp < time_min:  # no answer has room for it
                raise ValueError(f"a timestamp of {timestamp}")
        else:
            timestamp = append_time
        append(new((base_offset + offset, timestamp, key, value, headers)))
    return records, position


def parse_headers(data: bytes, position: int, count_max: int) -> tuple[Headers, int]:
    count, position = read_varint(data, position)
    if count < 0:
        raise ValueError(f"a header count of {count}")
    if count > count_max:
        raise ValueError(f"more than {HEADERS_MAX} headers in a batch")
    headers: Headers = []
    for _ in range(count):
        length, position = read_varint(data, position)
        if length < 0:
            raise ValueError(f"a header key of {length} bytes")
        key = data[position : position + length].decode("utf-8", _ANY_TEXT)
        length, position = read_varint(data, position + length)
        if length < -1:
            raise ValueError(f"a header value of {length} bytes")
        if length == -1:
            headers.append((key, None))
        else:
            headers.append((key, data[position : position + length]))
            position += length
    return headers, position


def encode_records(records: Sequence[Record], base_offset: Offset, base_timestamp: TimestampMs) -> bytes:
    parts: list[bytes] = []
    for offset, timestamp, key, value, headers in records:
        fields = [b"\0", encode_varint(timestamp - base_timestamp), encode_varint(offset - base_offset)]
        fields += (_NULL,) if key is None else (encode_varint(len(key)), key)
        fields += (_NULL,) if value is None else (encode_varint(len(value)), value)
        if headers:
            fields.append(encode_varint(len(headers)))
            for name, content in headers:
                text = name.encode("utf-8", _ANY_TEXT)
                fields += (encode_varint(len(text)), text)
                fields += (_NULL,) if content is None else (encode_varint(len(content)), content)
        else:
            fields.append(b"\0")
        record = b"".join(fields)
        parts += (encode_varint(len(record)), record)
    return b"".join(parts)
