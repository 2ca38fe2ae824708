"""Records seen from a distance: where each lies, its key, and whether it has a value.

Compaction looks at every record of a log and changes few: it copies bytes, so values and headers are skipped
here, not decoded. `join_outlined` makes a batch of a choice of them, under the header they came with.
"""

from collections.abc import Sequence

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import TimestampMs
from tidelog.base.ports import Buffer
from tidelog.wire.batch import CODEC_MASK, DELETE_HORIZON, HEADER, OVERHEAD, BatchHeader, patch_crc
from tidelog.wire.compression import Codec, compress, decompress
from tidelog.wire.record import DECOMPRESSED_BYTES_MAX
from tidelog.wire.varint import encode_varint, read_varint, read_varlong

Outline = tuple[int, int, int, int, int, bytes | None, bool]
"""(start, end of the timestamp, end, timestamp delta, offset delta, key, is a tombstone) of one record."""


def record_bytes(batch: Buffer, header: BatchHeader) -> bytes:
    """The records of a batch, uncompressed."""
    body = memoryview(batch)[HEADER.size : header.size]
    if header.attributes & CODEC_MASK == Codec.NONE or not body:
        return bytes(body)
    return decompress(header.attributes & CODEC_MASK, body, DECOMPRESSED_BYTES_MAX)


def outline_records(data: bytes, header: BatchHeader) -> list[Outline]:
    """Every record in the uncompressed bytes of a batch; KafkaError where they do not fit its header."""
    try:
        outlines, end = _outline(data, header.record_count)
    except IndexError:
        raise _invalid(header, f"they end before the {header.record_count} declared") from None
    except ValueError as error:
        raise _invalid(header, str(error)) from None
    if end != len(data):
        raise _invalid(header, f"{len(data) - end} bytes follow the {header.record_count} declared")
    return outlines


def _outline(data: bytes, count: int) -> tuple[list[Outline], int]:
    """The layout is that of `record_body`; one-byte numbers are decoded in place, as it does."""
    outlines: list[Outline] = []
    append = outlines.append
    size = len(data)
    position = 0
    for _ in range(count):
        start = position
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
        after_timestamp = position
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
        key = None
        if length >= 0:
            key = data[position : position + length]
            position += length
        elif length != -1:
            raise ValueError(f"a key of {length} bytes")
        byte = data[position]
        is_tombstone = byte & 1 == 1  # the only negative length is -1, null
        if position >= end:
            raise ValueError("a record whose key ends beyond it")
        position = end
        append((start, after_timestamp, end, timestamp, offset, key, is_tombstone))
    return outlines, position


def join_outlined(
    data: bytes, header: BatchHeader, kept: Sequence[Outline], delete_horizon_ms: TimestampMs | None
) -> bytearray:
    """The batch with only these of its records. Its range of offsets and of sequences stays.

    `delete_horizon_ms` is for a batch that has none yet: it takes the place of the base timestamp, so the
    deltas are written anew.
    """
    attributes, base_timestamp = header.attributes, header.base_timestamp
    if delete_horizon_ms is None:
        body = b"".join([data[outline[0] : outline[2]] for outline in kept])
    else:
        attributes |= DELETE_HORIZON
        body = _rebased(data, kept, base_timestamp - delete_horizon_ms)
        base_timestamp = delete_horizon_ms
    codec = attributes & CODEC_MASK
    if codec != Codec.NONE:
        body = compress(codec, body)
    max_timestamp = header.max_timestamp
    if not header.is_log_append_time:
        max_timestamp = header.base_timestamp + max([outline[3] for outline in kept])
    batch = bytearray(HEADER.size)
    batch += body
    changed = header._replace(
        length=len(batch) - OVERHEAD,
        attributes=attributes,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        record_count=len(kept),
    )
    HEADER.pack_into(batch, 0, *changed)
    patch_crc(batch, 0)
    return batch


def _rebased(data: bytes, kept: Sequence[Outline], shift: int) -> bytes:
    parts: list[bytes] = []
    for _, after_timestamp, end, timestamp, *_ in kept:
        delta = encode_varint(timestamp + shift)
        rest = data[after_timestamp:end]
        parts += (encode_varint(1 + len(delta) + len(rest)), b"\0", delta, rest)
    return b"".join(parts)


def _invalid(header: BatchHeader, why: str) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_RECORD, f"the records of the batch at offset {header.base_offset}: {why}"
    )
