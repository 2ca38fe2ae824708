"""The records of share groups (KIP-932), one for each thing that changes on its own.

key    10 member   11 group   12 target   13 target of a member   14 what a member holds
       15 the topics whose share state is being made, is there, or is being deleted
value  version i16 = 0, then as each decoder below says, in the compact encoding with tagged fields
"""

from collections.abc import Mapping
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from tidelog.base.ids import TimestampMs, Uuid
from tidelog.groups.record_formats import compact, group_key
from tidelog.groups.record_formats.assignment import Assignment, encode_assignment, read_assignment
from tidelog.groups.record_formats.compact import NO_TAGS, CompactReader, decode_version_0
from tidelog.groups.record_formats.fields import I16, I32, I64
from tidelog.groups.record_formats.holding import Holding, member_state
from tidelog.wire.primitives import uvarint

_VERSION_0 = I16.pack(0)


class Key(IntEnum):
    MEMBER = 10
    GROUP = 11
    TARGET = 12
    TARGET_OF_MEMBER = 13
    HOLDING = 14
    STATES = 15


_NAMED = (Key.MEMBER, Key.TARGET_OF_MEMBER, Key.HOLDING)


class ShareEpoch(NamedTuple):
    epoch: int
    metadata_hash: int = 0
    """Of the topics that the group read when the epoch began; tells whether they changed since."""


class ShareSubscription(NamedTuple):
    """What a member said about itself."""

    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()
    """Sorted."""


class ShareTarget(NamedTuple):
    epoch: int
    assigned_ms: TimestampMs = 0
    """When the target was made; 0 where the next one may be made at once."""


class NamedPartitions(NamedTuple):
    topic_name: str
    partitions: frozenset[int]


class StoredStates(NamedTuple):
    """Which partitions have share state, are about to have it, or had it."""

    initializing: Mapping[Uuid, NamedPartitions] = {}
    initialized: Mapping[Uuid, NamedPartitions] = {}
    deleting: Mapping[Uuid, str] = {}
    """Topic id to name, from before the state goes until it is gone."""


def decode_key(data: bytes) -> tuple[Key, str, str]:
    """Kind, group, and the member it is about, if any."""
    key, group_id, name = group_key.decode_key(data, _NAMED)
    return Key(key), group_id, name


def encode_group(value: ShareEpoch) -> bytes:
    return _VERSION_0 + I32.pack(value.epoch) + I64.pack(value.metadata_hash) + NO_TAGS


def decode_group(data: bytes) -> ShareEpoch:
    return decode_version_0("a share group", data, lambda reader: ShareEpoch(reader.i32(), reader.i64()))


def encode_member(member: ShareSubscription) -> bytes:
    return b"".join(
        (
            _VERSION_0,
            compact.nullable_string(member.rack_id),
            compact.string(member.client_id),
            compact.string(member.client_host),
            compact.strings(member.topic_names),
            NO_TAGS,
        )
    )


def decode_member(data: bytes) -> ShareSubscription:
    def read(reader: CompactReader) -> ShareSubscription:
        who = reader.nullable_string(), reader.string(), reader.string()
        return ShareSubscription(*who, tuple(sorted(reader.strings())))

    return decode_version_0("a member of a share group", data, read)


def encode_target_epoch(target: ShareTarget) -> bytes:
    tags = compact.tagged({0: I64.pack(target.assigned_ms)} if target.assigned_ms else {})
    return _VERSION_0 + I32.pack(target.epoch) + tags


def decode_target_epoch(data: bytes) -> ShareTarget:
    def read(reader: CompactReader) -> ShareTarget:
        epoch, times = reader.i32(), [0]
        reader.tagged({0: lambda field: times.append(field.i64())})
        return ShareTarget(epoch, times[-1])

    return decode_version_0("the epoch of a share group's target", data, read)


def encode_target(assignment: Assignment) -> bytes:
    return _VERSION_0 + encode_assignment(assignment) + NO_TAGS


def decode_target(data: bytes) -> Assignment:
    return decode_version_0("the target of a share group's member", data, read_assignment)


def encode_holding(holding: Holding[Uuid]) -> bytes:
    head = I32.pack(holding.epoch) + I32.pack(holding.previous_epoch) + bytes([holding.state])
    return _VERSION_0 + head + encode_assignment(holding.assigned) + NO_TAGS


def decode_holding(data: bytes) -> Holding[Uuid]:
    def read(reader: CompactReader) -> Holding[Uuid]:
        epoch, previous_epoch, state = reader.i32(), reader.i32(), reader.i8()
        return Holding(epoch, previous_epoch, member_state(state), read_assignment(reader))

    return decode_version_0("what a share group's member holds", data, read)


def encode_states(states: StoredStates) -> bytes:
    deleting = (topic + compact.string(name) + NO_TAGS for topic, name in sorted(states.deleting.items()))
    return b"".join(
        (
            _VERSION_0,
            _partitions(states.initializing),
            _partitions(states.initialized),
            compact.array(deleting, len(states.deleting)),
            NO_TAGS,
        )
    )


def decode_states(data: bytes) -> StoredStates:
    def read(reader: CompactReader) -> StoredStates:
        initializing, initialized = _read_partitions(reader), _read_partitions(reader)
        deleting = {}
        for _ in range(reader.count()):
            topic = reader.uuid()
            deleting[topic] = reader.string()
            reader.tags()
        return StoredStates(initializing, initialized, deleting)

    return decode_version_0("the share states of a group", data, read)


def _partitions(topics: Mapping[Uuid, NamedPartitions]) -> bytes:
    return compact.array(
        (
            topic + compact.string(name) + _numbers(sorted(partitions)) + NO_TAGS
            for topic, (name, partitions) in sorted(topics.items())
        ),
        len(topics),
    )


def _numbers(values: list[int]) -> bytes:
    return uvarint(len(values) + 1) + Struct(f">{len(values)}i").pack(*values)


def _read_partitions(reader: CompactReader) -> dict[Uuid, NamedPartitions]:
    topics = {}
    for _ in range(reader.count()):
        topic = reader.uuid()
        topics[topic] = NamedPartitions(reader.string(), frozenset(reader.numbers()))
        reader.tags()
    return topics
