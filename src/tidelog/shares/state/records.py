"""The keys and values of `__share_group_state`, byte for byte as Kafka 4.3 writes them.

key       version i16 (0 snapshot, 1 update), group string, topic id uuid, partition i32
snapshot  version i16 = 0, snapshot epoch i32, state epoch i32, leader epoch i32, start offset i64,
          created i64, written i64, batches []Batch, tags
update    version i16 = 0, snapshot epoch i32, leader epoch i32, start offset i64, batches []Batch, tags
Batch     first i64, last i64, delivery state i8, delivery count i16, tags: 10000 available at i64
tags      0 delivery complete count i32, and ours, which Kafka's tools read over:
          10001 the begun dead letters, as in WriteShareGroupState, 10002 part i8, 10003 write sequence i64,
          10004 log end i64
"""

from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from struct import Struct, error
from typing import NamedTuple

from tidelog.base.errors import ProtocolError, StorageError
from tidelog.base.ids import Epoch, Offset, TimestampMs
from tidelog.coordination.placement import CACHED_CHARS_MAX
from tidelog.shares.place import SharePlace
from tidelog.shares.states import AT_ONCE, DeadLetterWrite, DeliveryState, StateBatch
from tidelog.wire.primitives import read_uvarint, uvarint

SNAPSHOT_KEY = 0
UPDATE_KEY = 1
UNKNOWN_COUNT = -1
NO_SEQUENCE = -1
UNCHANGED: Offset = -1
"""The start offset of an update that does not move it."""
NO_LOG_END: Offset = -1

_KEY_HEAD = Struct(">hh")
_KEY_TAIL = Struct(">16si")
_SNAPSHOT = Struct(">hiiiqqq")
_UPDATE = Struct(">hiiq")
_BATCH = Struct(">qqbhB")
_BATCH_DUE = Struct(">qqbhB2sBq")
_LETTERS = Struct(">qhi16si")
_RANGE = Struct(">qqB")
_I8, _I32, _I64 = Struct(">b"), Struct(">i"), Struct(">q")

_COUNT_TAG, _DUE_TAG, _LETTERS_TAG, _PART_TAG, _SEQUENCE_TAG = 0, 10000, 10001, 10002, 10003
_LOG_END_TAG = 10004
_DUE_TAG_BYTES, _SEQUENCE_TAG_BYTES = uvarint(_DUE_TAG), uvarint(_SEQUENCE_TAG)
_COUNT_AND_SEQUENCE = Struct(">BBBi2sBq")
"""The tags of most writes, at once."""
_STATES = {int(state): state for state in DeliveryState if state is not DeliveryState.ACQUIRED}


class CorruptShareRecord(StorageError):
    """A record of `__share_group_state` that is not in any format we know."""


class Part(IntEnum):
    """A snapshot that is too large for one record goes on in updates. They only repeat what is known, so
    that a snapshot of which some parts are missing does no harm; what it replaces stays until its last."""

    WHOLE = 0
    MORE = 1
    LAST = 2


class Snapshot(NamedTuple):
    """All of a state, or its first part."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: Epoch
    start_offset: Offset
    created_ms: TimestampMs
    written_ms: TimestampMs
    batches: Sequence[StateBatch] = ()
    delivery_complete_count: int = UNKNOWN_COUNT
    dead_letters: DeadLetterWrite | None = None
    part: Part = Part.WHOLE
    sequence: int = NO_SEQUENCE


class Update(NamedTuple):
    """What has changed: batches replace what was known of their offsets, all else replaces all else."""

    snapshot_epoch: int
    leader_epoch: Epoch
    start_offset: Offset
    batches: Sequence[StateBatch] = ()
    delivery_complete_count: int = UNKNOWN_COUNT
    dead_letters: DeadLetterWrite | None = None
    part: Part = Part.WHOLE
    sequence: int = NO_SEQUENCE
    log_end: Offset = NO_LOG_END
    """The log of the partition has lost its records from here on: before all else, so does the state."""


def encode_key(kind: int, place: SharePlace) -> bytes:
    encode = _cached_key if len(place.group_id) <= CACHED_CHARS_MAX else _encoded_key
    return encode(kind, place)


def _encoded_key(kind: int, place: SharePlace) -> bytes:
    group = place.group_id.encode()
    return _KEY_HEAD.pack(kind, len(group)) + group + _KEY_TAIL.pack(place.topic_id, place.partition)


_cached_key = lru_cache(8192)(_encoded_key)


def decode_key(key: bytes) -> tuple[int, SharePlace]:
    try:
        kind, length = _KEY_HEAD.unpack_from(key)
        end = _KEY_HEAD.size + length
        group = key[_KEY_HEAD.size : end].decode()
        topic_id, partition = _KEY_TAIL.unpack_from(key, end)
    except (error, ValueError) as cause:
        raise CorruptShareRecord(f"a key of {len(key)} bytes cannot be read: {cause}") from cause
    return kind, SharePlace(group, topic_id, partition)


def kind_of(key: bytes) -> int:
    """Keys of later versions may have other fields: look at this first."""
    return int.from_bytes(key[:2], "big", signed=True)


def encode_snapshot(value: Snapshot) -> bytes:
    head = _SNAPSHOT.pack(
        0,
        value.snapshot_epoch,
        value.state_epoch,
        value.leader_epoch,
        value.start_offset,
        value.created_ms,
        value.written_ms,
    )
    return head + _batches(value.batches) + _tags(value)


def encode_update(value: Update) -> bytes:
    head = _UPDATE.pack(0, value.snapshot_epoch, value.leader_epoch, value.start_offset)
    return head + _batches(value.batches) + _tags(value)


def decode_snapshot(data: bytes) -> Snapshot:
    try:
        _, epoch, state_epoch, leader_epoch, start, created, written = _SNAPSHOT.unpack_from(data)
        batches, position = _read_batches(data, _SNAPSHOT.size)
        tags = _read_tags(data, position)
        return Snapshot(epoch, state_epoch, leader_epoch, start, created, written, batches, *tags[:-1])
    except (error, IndexError, ValueError, KeyError, ProtocolError) as cause:
        raise CorruptShareRecord(f"a snapshot of {len(data)} bytes cannot be read: {cause}") from cause


def decode_update(data: bytes) -> Update:
    try:
        _, epoch, leader_epoch, start = _UPDATE.unpack_from(data)
        batches, position = _read_batches(data, _UPDATE.size)
        return Update(epoch, leader_epoch, start, batches, *_read_tags(data, position))
    except (error, IndexError, ValueError, KeyError, ProtocolError) as cause:
        raise CorruptShareRecord(f"an update of {len(data)} bytes cannot be read: {cause}") from cause


def _batches(batches: Sequence[StateBatch]) -> bytes:
    return uvarint(len(batches) + 1) + b"".join(
        [
            _BATCH.pack(first, last, state, count, 0)
            if at == AT_ONCE
            else _BATCH_DUE.pack(first, last, state, count, 1, _DUE_TAG_BYTES, 8, at)
            for first, last, state, count, at in batches
        ]
    )


def _tags(value: Snapshot | Update) -> bytes:
    delivered, sequence = value.delivery_complete_count, value.sequence
    log_end = value.log_end if isinstance(value, Update) else NO_LOG_END
    is_plain = value.dead_letters is None and value.part is Part.WHOLE and log_end == NO_LOG_END
    if is_plain and delivered != UNKNOWN_COUNT and sequence != NO_SEQUENCE:
        return _COUNT_AND_SEQUENCE.pack(2, _COUNT_TAG, 4, delivered, _SEQUENCE_TAG_BYTES, 8, sequence)
    fields = []
    if delivered != UNKNOWN_COUNT:
        fields.append((_COUNT_TAG, _I32.pack(delivered)))
    if value.dead_letters is not None:
        fields.append((_LETTERS_TAG, _letters(value.dead_letters)))
    if value.part is not Part.WHOLE:
        fields.append((_PART_TAG, _I8.pack(value.part)))
    if sequence != NO_SEQUENCE:
        fields.append((_SEQUENCE_TAG, _I64.pack(sequence)))
    if log_end != NO_LOG_END:
        fields.append((_LOG_END_TAG, _I64.pack(log_end)))
    parts = [uvarint(len(fields))]
    for tag, content in fields:
        parts += (uvarint(tag), uvarint(len(content)), content)
    return b"".join(parts)


def _letters(begun: DeadLetterWrite) -> bytes:
    head = _LETTERS.pack(
        begun.producer_id, begun.producer_epoch, begun.first_sequence, begun.topic_id, begun.partition
    )
    ranges = b"".join([_RANGE.pack(first, last, 0) for first, last in begun.offsets])
    return uvarint(2) + head + uvarint(len(begun.offsets) + 1) + ranges + b"\x00"


def _read_batches(data: bytes, position: int) -> tuple[list[StateBatch], int]:
    count, position = read_uvarint(data, position)
    batches = []
    for _ in range(count - 1):
        first, last, state, deliveries, tags = _BATCH.unpack_from(data, position)
        position += _BATCH.size
        due = AT_ONCE
        for _ in range(tags):
            tag, content, position = _read_tag(data, position)
            if tag == _DUE_TAG:
                due = _I64.unpack(content)[0]
        batches.append(StateBatch(first, last, _STATES[state], deliveries, due))
    return batches, position


def _read_tags(data: bytes, position: int) -> tuple[int, DeadLetterWrite | None, Part, int, Offset]:
    delivered, letters, part, sequence, log_end = UNKNOWN_COUNT, None, Part.WHOLE, NO_SEQUENCE, NO_LOG_END
    count, position = read_uvarint(data, position)
    for _ in range(count):
        tag, content, position = _read_tag(data, position)
        if tag == _COUNT_TAG:
            delivered = _I32.unpack(content)[0]
        elif tag == _LETTERS_TAG:
            letters = _read_letters(content)
        elif tag == _PART_TAG:
            part = Part(_I8.unpack(content)[0])
        elif tag == _SEQUENCE_TAG:
            sequence = _I64.unpack(content)[0]
        elif tag == _LOG_END_TAG:
            log_end = _I64.unpack(content)[0]
    return delivered, letters, part, sequence, log_end


def _read_tag(data: bytes, position: int) -> tuple[int, bytes, int]:
    tag, position = read_uvarint(data, position)
    size, position = read_uvarint(data, position)
    end = position + size
    if end > len(data):
        raise ValueError(f"tagged field {tag} is cut short")
    return tag, data[position:end], end


def _read_letters(data: bytes) -> DeadLetterWrite | None:
    count, position = read_uvarint(data, 0)
    if count < 2:
        return None
    producer_id, epoch, sequence, topic_id, partition = _LETTERS.unpack_from(data, position)
    ranges, position = read_uvarint(data, position + _LETTERS.size)
    offsets = tuple(
        _RANGE.unpack_from(data, position + number * _RANGE.size)[:2] for number in range(ranges - 1)
    )
    return DeadLetterWrite(producer_id, epoch, sequence, topic_id, partition, offsets)
