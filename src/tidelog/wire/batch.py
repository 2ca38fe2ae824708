"""Record batches (Kafka's format v2) from the outside: the 61-byte header, the CRC, and patching.

Nothing here looks at a record, so the cost is per batch. `check_batches` is for bytes from a client and
answers with the codes that Apache Kafka uses; `iter_batches` is for bytes of our own log.
"""

import struct
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from crc32c import crc32c

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, Offset, ProducerId, TimestampMs
from tidelog.base.ports import Buffer

# Batch header, big-endian, 61 bytes; the records follow.
#    0  base_offset        i64
#    8  length             i32  bytes after this field
#   12  leader_epoch       i32
#   16  magic              i8   2
#   17  crc                u32  CRC32C of everything after this field
#   21  attributes         i16
#   23  last_offset_delta  i32
#   27  base_timestamp     i64
#   35  max_timestamp      i64
#   43  producer_id        i64
#   51  producer_epoch     i16
#   53  base_sequence      i32
#   57  record_count       i32
HEADER: Final = struct.Struct(">qiibIhiqqqhii")
LENGTH_AT: Final = 8
LEADER_EPOCH_AT: Final = 12
MAGIC_AT: Final = 16
CRC_AT: Final = 17
ATTRIBUTES_AT: Final = 21
MAX_TIMESTAMP_AT: Final = 35

OVERHEAD: Final = 12
"""Bytes in front of what `length` counts."""
LENGTH_MIN: Final = HEADER.size - OVERHEAD
MAGIC: Final = 2
RECORD_BYTES_MIN: Final = 7
"""The smallest record: length, attributes, two deltas, two null lengths and a header count, one byte each."""
COMPRESSED_RECORDS_MAX: Final = 250_000
"""In 250 bytes there is room for as many as these; each costs 200 bytes and a microsecond to look at."""

CODEC_MASK: Final = 0x07
CODEC_MAX: Final = 4
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

_SEQUENCE_MASK = 0x7FFFFFFF
_CLIENT_MAY_NOT_SET = CONTROL | LOG_APPEND_TIME

_unpack = HEADER.unpack_from
_i16 = struct.Struct(">h")
_i32 = struct.Struct(">i")
_u32 = struct.Struct(">I")
_i64 = struct.Struct(">q")


class BatchHeader(NamedTuple):
    base_offset: Offset
    length: int
    leader_epoch: Epoch
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: TimestampMs
    max_timestamp: TimestampMs
    producer_id: ProducerId
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included."""
        return OVERHEAD + self.length

    @property
    def last_offset(self) -> Offset:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> Offset:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME != 0

    @property
    def has_delete_horizon(self) -> bool:
        """Then `base_timestamp` is the time from which tombstones and markers of the batch may go."""
        return self.attributes & DELETE_HORIZON != 0

    @property
    def last_sequence(self) -> int:
        """Sequences start again at 0 after 2^31 - 1; -1 where the producer is not idempotent."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & _SEQUENCE_MASK


# `BatchHeader._make` counts the fields, which the struct has done already, and that doubles its cost.
_new = partial(tuple.__new__, BatchHeader)


def read_header(buf: Buffer, position: int = 0) -> BatchHeader:
    try:
        return _new(_unpack(buf, position))
    except struct.error:
        left = len(buf) - position
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"{left} bytes at {position}, a batch header is {HEADER.size}"
        ) from None


def iter_batches(buf: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each whole batch; an incomplete last one is left out. The CRC is not checked."""
    size = len(buf)
    position = 0
    while size - position >= HEADER.size:
        header = _new(_unpack(buf, position))
        if header.magic != MAGIC or header.length < LENGTH_MIN:
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE,
                f"no batch at {position}: magic {header.magic}, length {header.length}",
            )
        end = position + OVERHEAD + header.length
        if end > size:
            return
        yield position, header
        position = end


def crc_of(buf: Buffer, position: int, length: int) -> int:
    """The CRC that the batch at `position`, whose length field says `length`, ought to have."""
    return crc32c(memoryview(buf)[position + ATTRIBUTES_AT : position + OVERHEAD + length])


def crc_ok(buf: Buffer, position: int, header: BatchHeader) -> bool:
    return crc_of(buf, position, header.length) == header.crc


def check_batches(buf: Buffer) -> list[tuple[int, BatchHeader]]:
    """Every batch that a client sent, or KafkaError. At least one; the buffer is used up to its last byte."""
    view = memoryview(buf)
    size = len(view)
    position = 0
    found = []
    while size - position >= HEADER.size:
        header = _new(_unpack(view, position))
        base_offset, length, _, magic, crc, attributes, delta, _, _, producer, _, sequence, count = header
        codec = attributes & CODEC_MASK
        end = position + OVERHEAD + length
        # One expression for the good case; which rule was broken is worked out only when one was.
        if (
            magic != MAGIC
            or length < LENGTH_MIN
            or end > size
            or base_offset != 0
            or codec > CODEC_MAX
            or attributes & _CLIENT_MAY_NOT_SET
            or count <= 0
            or delta != count - 1
            or sequence < 0 <= producer
            or (codec == 0 and count * RECORD_BYTES_MIN > length - LENGTH_MIN)
            or (codec and count > COMPRESSED_RECORDS_MAX)
        ):
            raise _fault(header, size - position)
        if crc32c(view[position + ATTRIBUTES_AT : end]) != crc:
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE, f"the batch carries CRC {crc:#010x}, its bytes give another"
            )
        found.append((position, header))
        position = end
    if position != size or not found:
        raise _leftover(view[position:])
    return found


def _fault(header: BatchHeader, available: int) -> KafkaError:
    """Names the rule that a client's batch breaks, in the order in which Apache Kafka looks."""
    if header.magic in (0, 1):
        return _legacy(header.magic)
    if header.magic != MAGIC:
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"batch with magic {header.magic} instead of 2")
    if header.length < LENGTH_MIN:
        return KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"batch of length {header.length}, the least is {LENGTH_MIN}"
        )
    if header.size > available:
        return KafkaError(
            ErrorCode.INVALID_RECORD, f"batch of {header.size} bytes, but only {available} were sent"
        )
    if header.base_offset != 0:
        return KafkaError(
            ErrorCode.INVALID_RECORD,
            f"base offset {header.base_offset}: a client sends 0, the broker assigns offsets",
        )
    if header.codec > CODEC_MAX:
        return KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"compression type {header.codec}")
    if header.is_control:
        return KafkaError(ErrorCode.INVALID_RECORD, "clients may not write control records")
    if header.is_log_append_time:
        return KafkaError(
            ErrorCode.INVALID_TIMESTAMP, "clients may not set the timestamp type to log append time"
        )
    if header.record_count <= 0:
        return KafkaError(ErrorCode.INVALID_RECORD, f"batch with a record count of {header.record_count}")
    if header.last_offset_delta != header.record_count - 1:
        return KafkaError(
            ErrorCode.INVALID_RECORD,
            f"last offset delta {header.last_offset_delta} does not fit {header.record_count} records",
        )
    if header.base_sequence < 0 <= header.producer_id:
        return KafkaError(
            ErrorCode.INVALID_RECORD,
            f"sequence {header.base_sequence} in a batch of producer {header.producer_id}",
        )
    if header.codec:
        return KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"{header.record_count} records in a compressed batch, the limit is {COMPRESSED_RECORDS_MAX}",
        )
    return KafkaError(
        ErrorCode.INVALID_RECORD,
        f"{header.record_count} records do not fit into {header.length - LENGTH_MIN} bytes",
    )


def _leftover(rest: memoryview) -> KafkaError:
    if len(rest) > MAGIC_AT and rest[MAGIC_AT] in (0, 1):
        return _legacy(rest[MAGIC_AT])
    if len(rest) == 0:
        return KafkaError(ErrorCode.INVALID_RECORD, "the request holds no record batch")
    return KafkaError(ErrorCode.INVALID_RECORD, f"{len(rest)} bytes that are not a whole batch")


def _legacy(magic: int) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_RECORD,  # as Kafka answers since it takes v2 only
        f"messages of format v{magic}; the broker takes v2, which clients of Kafka 0.11 and later write",
    )


patch_front = struct.Struct(">qii").pack_into
"""`patch_base` in one call, for who knows the length: (buf, position, base_offset, length, leader_epoch)."""


def patch_base(buf: memoryview | bytearray, position: int, base_offset: Offset, leader_epoch: Epoch) -> None:
    """Both fields lie outside of the CRC."""
    _i64.pack_into(buf, position, base_offset)
    _i32.pack_into(buf, position + LEADER_EPOCH_AT, leader_epoch)


def patch_timestamp(
    buf: memoryview | bytearray, position: int, attributes: int, max_timestamp: TimestampMs
) -> None:
    """Set the attributes (with or without LOG_APPEND_TIME) and the max timestamp, and make the CRC fit."""
    _i16.pack_into(buf, position + ATTRIBUTES_AT, attributes)
    _i64.pack_into(buf, position + MAX_TIMESTAMP_AT, max_timestamp)
    patch_crc(buf, position)


def patch_crc(buf: memoryview | bytearray, position: int) -> None:
    (length,) = _i32.unpack_from(buf, position + LENGTH_AT)
    _u32.pack_into(buf, position + CRC_AT, crc_of(buf, position, length))
