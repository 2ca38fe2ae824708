"""The records of the new kind of group, one for each thing that changes on its own.

key    version i16, group string, and for some: member string, or regular expression string
       3 group   4 topics (no longer written)   5 member   6 target   7 target of a member
       8 what a member holds   16 what a regular expression stands for
value  version i16 = 0, then as each decoder below says, in the compact encoding with tagged fields
"""

from enum import IntEnum
from typing import NamedTuple

from tidelog.base.ids import TimestampMs, Uuid
from tidelog.groups.record_formats import compact, group_key
from tidelog.groups.record_formats.assignment import Assignment, encode_assignment, read_assignment
from tidelog.groups.record_formats.compact import NO_TAGS, CompactReader, decode_version_0
from tidelog.groups.record_formats.fields import I16, I32, I64
from tidelog.groups.record_formats.holding import Holding, member_state

_VERSION_0 = I16.pack(0)


class Key(IntEnum):
    GROUP = 3
    TOPICS = 4
    MEMBER = 5
    TARGET = 6
    TARGET_OF_MEMBER = 7
    HOLDING = 8
    PATTERN = 16


_NAMED = (Key.MEMBER, Key.TARGET_OF_MEMBER, Key.HOLDING, Key.PATTERN)


class GroupEpoch(NamedTuple):
    epoch: int
    metadata_hash: int = 0
    """Of the topics that the group read when the epoch began; tells whether they changed since."""


class ConsumerTarget(NamedTuple):
    epoch: int
    assigned_ms: TimestampMs = 0
    """When the target was made; 0 where the next one may be made at once."""


class ClassicProtocols(NamedTuple):
    """What a member that speaks the classic protocol brought along."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


class Subscription(NamedTuple):
    """What a member said about itself."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()
    """Sorted."""
    topic_regex: str | None = None
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicProtocols | None = None


class ResolvedPattern(NamedTuple):
    """The topics that a regular expression stood for when it was last looked at."""

    topics: frozenset[str]
    version: int = 0
    timestamp: TimestampMs = 0


def decode_key(data: bytes) -> tuple[Key, str, str]:
    """Kind, group, and the member or regular expression it is about, if any."""
    key, group_id, name = group_key.decode_key(data, _NAMED)
    return Key(key), group_id, name


def encode_group(value: GroupEpoch) -> bytes:
    tags = compact.tagged({0: I64.pack(value.metadata_hash)} if value.metadata_hash else {})
    return _VERSION_0 + I32.pack(value.epoch) + tags


def decode_group(data: bytes) -> GroupEpoch:
    def read(reader: CompactReader) -> GroupEpoch:
        epoch, hashes = reader.i32(), [0]
        reader.tagged({0: lambda field: hashes.append(field.i64())})
        return GroupEpoch(epoch, hashes[-1])

    return decode_version_0("a group", data, read)


def encode_target_epoch(target: ConsumerTarget) -> bytes:
    tags = compact.tagged({0: I64.pack(target.assigned_ms)} if target.assigned_ms else {})
    return _VERSION_0 + I32.pack(target.epoch) + tags


def decode_target_epoch(data: bytes) -> ConsumerTarget:
    def read(reader: CompactReader) -> ConsumerTarget:
        epoch, times = reader.i32(), [0]
        reader.tagged({0: lambda field: times.append(field.i64())})
        return ConsumerTarget(epoch, times[-1])

    return decode_version_0("the epoch of a target", data, read)


def encode_target(assignment: Assignment) -> bytes:
    return _VERSION_0 + encode_assignment(assignment) + NO_TAGS


def decode_target(data: bytes) -> Assignment:
    return decode_version_0("the target of a member", data, read_assignment)


def encode_holding(holding: Holding[Uuid]) -> bytes:
    return b"".join(
        (
            _VERSION_0,
            I32.pack(holding.epoch),
            I32.pack(holding.previous_epoch),
            bytes([holding.state]),
            encode_assignment(holding.assigned),
            encode_assignment(holding.revoking),
            NO_TAGS,
        )
    )


def decode_holding(data: bytes) -> Holding[Uuid]:
    def read(reader: CompactReader) -> Holding[Uuid]:
        epoch, previous_epoch, state = reader.i32(), reader.i32(), reader.i8()
        assigned, revoking = read_assignment(reader), read_assignment(reader)
        return Holding(epoch, previous_epoch, member_state(state), assigned, revoking)

    return decode_version_0("what a member holds", data, read)


def encode_pattern(pattern: ResolvedPattern) -> bytes:
    topics = compact.strings(sorted(pattern.topics))
    return _VERSION_0 + topics + I64.pack(pattern.version) + I64.pack(pattern.timestamp) + NO_TAGS


def decode_pattern(data: bytes) -> ResolvedPattern:
    return decode_version_0(
        "a regular expression",
        data,
        lambda reader: ResolvedPattern(frozenset(reader.strings()), reader.i64(), reader.i64()),
    )


def encode_member(member: Subscription) -> bytes:
    return b"".join(
        (
            _VERSION_0,
            compact.nullable_string(member.instance_id),
            compact.nullable_string(member.rack_id),
            compact.string(member.client_id),
            compact.string(member.client_host),
            compact.strings(member.topic_names),
            compact.nullable_string(member.topic_regex),
            I32.pack(member.rebalance_timeout_ms),
            compact.nullable_string(member.assignor),
            compact.tagged({} if member.classic is None else {0: _classic(member.classic)}),
        )
    )


def decode_member(data: bytes) -> Subscription:
    return decode_version_0("a member", data, _read_member)


def _read_member(reader: CompactReader) -> Subscription:
    classic: list[ClassicProtocols] = []
    member = Subscription(
        instance_id=reader.nullable_string(),
        rack_id=reader.nullable_string(),
        client_id=reader.string(),
        client_host=reader.string(),
        topic_names=tuple(sorted(reader.strings())),
        topic_regex=reader.nullable_string(),
        rebalance_timeout_ms=reader.i32(),
        assignor=reader.nullable_string(),
    )
    reader.tagged({0: lambda field: _read_classic(field, classic)})
    return member._replace(classic=classic[0]) if classic else member


def _classic(classic: ClassicProtocols) -> bytes:
    protocols = (
        compact.string(name) + compact.sized_bytes(metadata) + NO_TAGS for name, metadata in classic.protocols
    )
    there = b"\x01"  # a struct that may be null is preceded by 1, or -1
    listed = compact.array(protocols, len(classic.protocols))
    return there + I32.pack(classic.session_timeout_ms) + listed + NO_TAGS


def _read_classic(reader: CompactReader, into: list[ClassicProtocols]) -> None:
    if reader.i8() < 0:
        return
    session_timeout_ms = reader.i32()
    protocols = []
    for _ in range(reader.count()):
        protocols.append((reader.string(), reader.blob()))
        reader.tags()
    reader.tags()
    into.append(ClassicProtocols(session_timeout_ms, tuple(protocols)))
