"""A classic group as a record: its generation, leader and members with what each was assigned.

    key    version i16 = 2, group string
    value  version i16 = 0 to 4, protocol type string, generation i32, protocol string?, leader string?,
           state timestamp i64 (2+), members []:
             member id string, instance id string? (3+), client id string, client host string,
             rebalance timeout i32 (1+), session timeout i32, subscription bytes, assignment bytes

Written as value 3. Only the subscription for the protocol in use is kept, as in Kafka.
"""

from typing import NamedTuple

from tidelog.base.ids import NO_TIMESTAMP, TimestampMs
from tidelog.groups.record_formats.fields import (
    I16,
    I32,
    I64,
    CorruptGroupRecord,
    FieldReader,
    decoding,
    nullable_string,
    sized_bytes,
    string,
)

KEY_VERSION = 2
VALUE_VERSION_MAX = 4
_FLEXIBLE = 4


class StoredMember(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


class StoredGroup(NamedTuple):
    """What of a classic group survives a change of coordinator."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_timestamp: TimestampMs
    members: tuple[StoredMember, ...]


def encode_key(group_id: str) -> bytes:
    return I16.pack(KEY_VERSION) + string(group_id)


def encode_value(group: StoredGroup) -> bytes:
    parts = [
        I16.pack(3),
        string(group.protocol_type),
        I32.pack(group.generation),
        nullable_string(group.protocol),
        nullable_string(group.leader),
        I64.pack(group.state_timestamp),
        I32.pack(len(group.members)),
    ]
    for member in group.members:
        parts += (
            string(member.member_id),
            nullable_string(member.instance_id),
            string(member.client_id),
            string(member.client_host),
            I32.pack(member.rebalance_timeout_ms),
            I32.pack(member.session_timeout_ms),
            sized_bytes(member.subscription),
            sized_bytes(member.assignment),
        )
    return b"".join(parts)


def decode_key(data: bytes) -> str:
    return decoding("a group key", data, _read_key)


def decode_value(data: bytes) -> StoredGroup:
    return decoding("a group value", data, _read_value)


def _read_key(reader: FieldReader) -> str:
    if reader.i16() != KEY_VERSION:
        raise CorruptGroupRecord("not the key of a classic group")
    return reader.string()


def _read_value(reader: FieldReader) -> StoredGroup:
    version = reader.i16()
    if not 0 <= version <= VALUE_VERSION_MAX:
        raise ValueError(f"version {version} is not known")
    reader.compact = version >= _FLEXIBLE
    protocol_type = reader.string()
    generation = reader.i32()
    protocol = reader.nullable_string()
    leader = reader.nullable_string()
    timestamp = reader.i64() if version >= 2 else NO_TIMESTAMP
    members = tuple(_read_member(reader, version) for _ in range(reader.count()))
    reader.tags()
    return StoredGroup(protocol_type, generation, protocol, leader, timestamp, members)


def _read_member(reader: FieldReader, version: int) -> StoredMember:
    member_id = reader.string()
    instance_id = reader.nullable_string() if version >= 3 else None
    client_id = reader.string()
    client_host = reader.string()
    rebalance_timeout_ms = reader.i32() if version >= 1 else -1
    session_timeout_ms = reader.i32()
    if rebalance_timeout_ms < 0:  # before version 1 one timeout served both
        rebalance_timeout_ms = session_timeout_ms
    subscription, assignment = reader.blob(), reader.blob()
    reader.tags()
    return StoredMember(
        member_id,
        instance_id,
        client_id,
        client_host,
        rebalance_timeout_ms,
        session_timeout_ms,
        subscription,
        assignment,
    )
