"""Batches with their records: only where semantics ask for it, since Python pays a microsecond for each.

`read_records` takes any batch of a log, also a compacted one with gaps; `walk_records` adds what a batch
fresh from a client must keep to. Bytes that break the format raise KafkaError. Control batches hold one
record that speaks to brokers and consumers, not to applications.
"""

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH, NO_PRODUCER, NO_TIMESTAMP, Epoch, Offset, ProducerId, TimestampMs
from tidelog.base.invariant import invariant
from tidelog.base.ports import Buffer
from tidelog.wire import batch as batches
from tidelog.wire.batch import HEADER
from tidelog.wire.compression import Codec, compress, decompress
from tidelog.wire.record_body import Headers, Record, encode_records, parse_records

__all__ = [
    "Control",
    "ControlType",
    "Headers",
    "Record",
    "read_control",
    "read_control_record",
    "read_records",
    "walk_records",
    "write_batch",
    "write_control_batch",
]

DECOMPRESSED_BYTES_MAX: Final = 128 * 1024 * 1024
NO_SEQUENCE: Final = -1

# A control record's key, big-endian:  version i16, type i16
# Value of a commit or abort:          version i16, coordinator epoch i32
# Later versions may only add fields at the end, so longer ones are read, and cut.
_KEY = struct.Struct(">hh")
_MARKER = struct.Struct(">hi")


def read_records(batch: Buffer, limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> list[Record]:
    """Every record of the batch that `batch` begins with. The CRC is the caller's to check."""
    header = batches.read_header(batch)
    if (
        header.magic != batches.MAGIC
        or not batches.LENGTH_MIN <= header.length <= len(batch) - batches.OVERHEAD
    ):
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE,
            f"no batch: magic {header.magic}, length {header.length} in {len(batch)} bytes",
        )
    body = memoryview(batch)[HEADER.size : header.size]
    if header.codec == Codec.NONE:
        data = bytes(body)
    elif header.record_count == 0 and not body:
        data = b""
    else:
        data = decompress(header.codec, body, limit_bytes)
    try:
        records, end = parse_records(data, header)
    except IndexError:
        raise _invalid(f"the records end before the {header.record_count} declared") from None
    except ValueError as error:
        raise _invalid(str(error)) from None
    if end != len(data):
        raise _invalid(f"{len(data) - end} bytes after the {header.record_count} records declared")
    return records


def walk_records(batch: Buffer, limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> list[Record]:
    """The records of a batch from a client, whose header was checked: offsets must count up by one."""
    records = read_records(batch, limit_bytes)
    expected = batches.read_header(batch).base_offset
    for record in records:
        if record.offset != expected:
            raise _invalid(f"a record at offset {record.offset} where {expected} is due")
        expected += 1
    return records


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, why)


def write_batch(
    records: Sequence[Record],
    *,
    base_offset: Offset = 0,
    leader_epoch: Epoch = NO_EPOCH,
    codec: int = Codec.NONE,
    level: int | None = None,
    producer_id: ProducerId = NO_PRODUCER,
    producer_epoch: int = NO_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    log_append_time: TimestampMs | None = None,
    delete_horizon_ms: TimestampMs | None = None,
    last_offset_delta: int | None = None,
    max_timestamp: TimestampMs | None = None,
) -> bytearray:
    """A whole batch. Offsets ascend from `base_offset` on and may have gaps.

    Compaction passes `last_offset_delta`, which keeps the range of the batch it rewrites, and `max_timestamp`
    where no record is left to tell it.
    """
    attributes = codec if records else Codec.NONE
    if transactional:
        attributes |= batches.TRANSACTIONAL
    if control:
        attributes |= batches.CONTROL
    if log_append_time is not None:
        attributes |= batches.LOG_APPEND_TIME
        max_timestamp = log_append_time
    if records:
        base_timestamp = records[0].timestamp
        if max_timestamp is None:
            max_timestamp = max([record.timestamp for record in records])
        if last_offset_delta is None:
            last_offset_delta = records[-1].offset - base_offset
        invariant(
            base_offset <= records[0].offset and records[-1].offset <= base_offset + last_offset_delta,
            "records outside of their batch",
            base=base_offset,
            first=records[0].offset,
            last=records[-1].offset,
            last_offset_delta=last_offset_delta,
        )
    else:
        invariant(last_offset_delta is not None, "an empty batch must be told its last offset")
        base_timestamp = max_timestamp = NO_TIMESTAMP if max_timestamp is None else max_timestamp
    if delete_horizon_ms is not None:
        attributes |= batches.DELETE_HORIZON
        base_timestamp = delete_horizon_ms
    body = encode_records(records, base_offset, base_timestamp)
    if attributes & batches.CODEC_MASK:
        body = compress(codec, body, level)
    batch = bytearray(HEADER.size)
    batch += body
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        len(batch) - batches.OVERHEAD,
        leader_epoch,
        batches.MAGIC,
        0,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        len(records),
    )
    batches.patch_crc(batch, 0)
    return batch


class ControlType(IntEnum):
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class Control(NamedTuple):
    type: int
    """A ControlType, or a number that a later version of Kafka will name."""
    coordinator_epoch: Epoch
    """NO_EPOCH for all but commit and abort."""

    @property
    def is_marker(self) -> bool:
        return self.type in (ControlType.ABORT, ControlType.COMMIT)


def write_control_batch(
    control: ControlType,
    *,
    producer_id: ProducerId,
    producer_epoch: int,
    coordinator_epoch: Epoch,
    timestamp: TimestampMs,
    base_offset: Offset = 0,
    leader_epoch: Epoch = NO_EPOCH,
) -> bytearray:
    """The marker that commits or aborts what the producer wrote to the partition."""
    record = Record(base_offset, timestamp, _KEY.pack(0, control), _MARKER.pack(0, coordinator_epoch))
    return write_batch(
        [record],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def read_control(batch: Buffer) -> Control | None:
    """What the control batch says; None once compaction has emptied it."""
    records = read_records(batch)
    return read_control_record(records[0]) if records else None


def read_control_record(record: Record) -> Control:
    key = record.key
    if key is None or len(key) < _KEY.size:
        raise _invalid("a control record needs a key of four bytes")
    version, kind = _KEY.unpack_from(key)
    if version < 0:
        raise _invalid(f"control record key of version {version}")
    if kind not in (ControlType.ABORT, ControlType.COMMIT):
        return Control(kind, NO_EPOCH)
    value = record.value
    if value is None or len(value) < _MARKER.size:
        raise _invalid("a transaction marker needs a value of six bytes")
    version, coordinator_epoch = _MARKER.unpack_from(value)
    if version < 0:
        raise _invalid(f"transaction marker of version {version}")
    return Control(kind, coordinator_epoch)
