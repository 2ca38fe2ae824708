"""A committed offset as a record: the key names group, topic and partition; no value means it is gone.

    key    version i16 = 0 or 1, group string, topic string, partition i32
    value  version i16 = 0 to 4, offset i64, leader epoch i32 (3+), metadata string,
           commit timestamp i64, expire timestamp i64 (1 only)

Written as key 1 with value 3, or value 1 where an old client asked for a retention of its own.
"""

from struct import Struct, error
from typing import NamedTuple

from tidelog.base.ids import NO_EPOCH, NO_TIMESTAMP, Offset, TimestampMs
from tidelog.groups.record_formats.fields import I16, CorruptGroupRecord, FieldReader, decoding, string

KEY_VERSION = b"\x00\x01"
_KEY_VERSIONS = (KEY_VERSION, b"\x00\x00")
VALUE_VERSION_MAX = 4
_FLEXIBLE = 4

_PARTITION = Struct(">i")
_HEAD_3 = Struct(">hqih")  # version, offset, leader epoch, length of the metadata
_HEAD_1 = Struct(">hqh")  # version, offset, length of the metadata
_TIME = Struct(">q")
_TIMES = Struct(">qq")


class OffsetKey(NamedTuple):
    group_id: str
    topic: str
    partition: int


class CommittedOffset(NamedTuple):
    offset: Offset
    leader_epoch: int = NO_EPOCH
    metadata: str = ""
    commit_timestamp: TimestampMs = NO_TIMESTAMP
    expire_timestamp: TimestampMs = NO_TIMESTAMP
    """-1: the broker's retention decides."""


def encode_key(group_id: str, topic: str, partition: int) -> bytes:
    return key_of(key_prefix(group_id, topic), partition)


def key_prefix(group_id: str, topic: str) -> bytes:
    """What the keys of all partitions of a topic begin with."""
    return KEY_VERSION + string(group_id) + string(topic)


def key_of(prefix: bytes, partition: int) -> bytes:
    return prefix + _PARTITION.pack(partition)


def encode_value(committed: CommittedOffset) -> bytes:
    metadata = committed.metadata.encode()
    if committed.expire_timestamp != NO_TIMESTAMP:
        head = _HEAD_1.pack(1, committed.offset, len(metadata))
        return head + metadata + _TIMES.pack(committed.commit_timestamp, committed.expire_timestamp)
    head = _HEAD_3.pack(3, committed.offset, committed.leader_epoch, len(metadata))
    return head + metadata + _TIME.pack(committed.commit_timestamp)


def decode_key(data: bytes) -> OffsetKey:
    try:  # without a reader: this runs for every commit
        (size,) = I16.unpack_from(data, 2)
        topic_at = 6 + size
        group_id = data[4 : 4 + size].decode()
        (topic_size,) = I16.unpack_from(data, 4 + size)
        (partition,) = _PARTITION.unpack_from(data, topic_at + topic_size)
        topic = data[topic_at : topic_at + topic_size].decode()
    except (error, ValueError) as cause:
        raise CorruptGroupRecord(f"an offset key of {len(data)} bytes cannot be read: {cause}") from cause
    if data[:2] not in _KEY_VERSIONS or size < 0 or topic_size < 0 or len(data) != topic_at + topic_size + 4:
        raise CorruptGroupRecord(f"not the key of a committed offset: {data[:40]!r}")
    return OffsetKey(group_id, topic, partition)


def decode_value(data: bytes) -> CommittedOffset:
    if data[:2] == b"\x00\x03":  # what we write: one unpack, no reader
        size = len(data)
        if size >= _HEAD_3.size + _TIME.size:
            _, offset, epoch, length = _HEAD_3.unpack_from(data)
            if length == size - _HEAD_3.size - _TIME.size:
                (commit_timestamp,) = _TIME.unpack_from(data, size - 8)
                metadata = data[_HEAD_3.size : size - 8].decode() if length else ""
                return CommittedOffset(offset, epoch, metadata, commit_timestamp)
    return decoding("an offset value", data, _read_value)


def _read_value(reader: FieldReader) -> CommittedOffset:
    version = reader.i16()
    if not 0 <= version <= VALUE_VERSION_MAX:
        raise ValueError(f"version {version} is not known")
    reader.compact = version >= _FLEXIBLE
    offset = reader.i64()
    leader_epoch = reader.i32() if version >= 3 else NO_EPOCH
    metadata = reader.string()
    commit_timestamp = reader.i64()
    expire_timestamp = reader.i64() if version == 1 else NO_TIMESTAMP
    reader.tags()
    return CommittedOffset(offset, leader_epoch, metadata, commit_timestamp, expire_timestamp)
