"""The first bytes of keys and values of a batch's records: for a check that needs no more than that.

Cheaper than whole records (`wire/record.py`): no timestamps, no offsets, no object for each record.
"""

from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ports import Buffer
from tidelog.wire.batch import read_header
from tidelog.wire.record_body import HEADERS_MAX, Headers, parse_headers
from tidelog.wire.record_outline import record_bytes
from tidelog.wire.varint import read_varint

FRONT_BYTES = 17


class Fronts(NamedTuple):
    """One entry for each record; None: a null."""

    keys: list[bytes | None]
    values: list[bytes | None]
    headers: dict[int, Headers]
    """Of the records that have any, by their number."""


def read_fronts(batch: Buffer) -> Fronts:
    """Of a batch whose header was checked. KafkaError where the records are not what it says."""
    header = read_header(batch)
    try:
        return _fronts(record_bytes(batch, header), header.record_count)
    except IndexError:
        why = f"the records end before the {header.record_count} declared"
    except ValueError as error:
        why = str(error)
    raise KafkaError(ErrorCode.INVALID_RECORD, why)


# See record_body.py for the layout. One-byte numbers are decoded in place, as there.
def _fronts(data: bytes, count: int) -> Fronts:
    if count < 0:
        raise ValueError(f"a record count of {count}")
    keys: list[bytes | None] = []
    values: list[bytes | None] = []
    headers: dict[int, Headers] = {}
    headers_left = HEADERS_MAX
    position = 0
    for number in range(count):
        length = data[position]
        if length < 128:
            length = length >> 1 ^ -(length & 1)
            position += 1
        else:
            length, position = read_varint(data, position)
        end = position + length
        if length < 0 or end > len(data):
            raise ValueError(f"a record of {length} bytes with {len(data) - position} left")
        position += 1
        while data[position] >= 128:  # the timestamp, then the offset: both are skipped
            position += 1
        position += 1
        while data[position] >= 128:
            position += 1
        position += 1
        for fronts in (keys, values):
            length = data[position]
            if length < 128:
                length = length >> 1 ^ -(length & 1)
                position += 1
            else:
                length, position = read_varint(data, position)
            if length >= 0:
                fronts.append(data[position : position + min(length, FRONT_BYTES)])
                position += length
            elif length == -1:
                fronts.append(None)
            else:
                raise ValueError(f"a key or a value of {length} bytes")
        if data[position]:
            headers[number], position = parse_headers(data, position, headers_left)
            headers_left -= len(headers[number])
        else:
            position += 1
        if position != end:
            raise ValueError(f"a record whose fields end {position - end} bytes from its end")
    if position != len(data):
        raise ValueError(f"{len(data) - position} bytes after the {count} records declared")
    return Fronts(keys, values, headers)
