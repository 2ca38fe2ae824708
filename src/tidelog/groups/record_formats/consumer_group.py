"""The records of the new kind of group, one for each thing that changes on its own.

key    version i16, group string, and for some: member string, or regular expression string
       3 group   4 topics (no longer written)   5 member   6 target   7 target of a member
       8 what a member holds   16 what a regular expression stands for
value  version i16 = 0, then as each decoder below says, in the compact encoding with tagged fields
"""

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple, TypeVar

from tidelog.base.ids import TimestampMs
from tidelog.groups.record_formats import compact
from tidelog.groups.record_formats.assignment import NOTHING, Assignment, encode_assignment, read_assignment
from tidelog.groups.record_formats.compact import NO_TAGS, CompactReader
from tidelog.groups.record_formats.fields import I16, I32, I64, FieldReader, decoding, string

_VERSION_0 = I16.pack(0)

DecodedT = TypeVar("DecodedT")


class Key(IntEnum):
    GROUP = 3
    TOPICS = 4
    MEMBER = 5
    TARGET = 6
    TARGET_OF_MEMBER = 7
    HOLDING = 8
    PATTERN = 16


class GroupEpoch(NamedTuple):
    epoch: int
    metadata_hash: int = 0
    """Of the topics that the group read when the epoch began; tells whether they changed since."""


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


class MemberState(IntEnum):
    STABLE = 0
    """Has what its epoch says it should have."""
    UNREVOKED_PARTITIONS = 1
    """Was told to let go of partitions and has not yet said that it did."""
    UNRELEASED_PARTITIONS = 2
    """Is at the newest epoch, and waits for partitions that others still hold."""
    UNKNOWN = 127
    """Stored by a version that knows more states."""


class Holding(NamedTuple):
    """Where a member stands: its epoch, what it may use, what it has yet to let go."""

    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Assignment = NOTHING
    revoking: Assignment = NOTHING


class ResolvedPattern(NamedTuple):
    """The topics that a regular expression stood for when it was last looked at."""

    topics: frozenset[str]
    version: int = 0
    timestamp: TimestampMs = 0


def encode_key(key: Key, group_id: str, name: str | None = None) -> bytes:
    head = I16.pack(key) + string(group_id)
    return head if name is None else head + string(name)


def decode_key(data: bytes) -> tuple[Key, str, str]:
    """Kind, group, and the member or regular expression it is about, if any."""
    return decoding("the key of a group", data, _read_key)


def _read_key(reader: FieldReader) -> tuple[Key, str, str]:
    key = Key(reader.i16())
    group_id = reader.string()
    named = key in (Key.MEMBER, Key.TARGET_OF_MEMBER, Key.HOLDING, Key.PATTERN)
    return key, group_id, reader.string() if named else ""


def encode_group(value: GroupEpoch) -> bytes:
    tags = compact.tagged({0: I64.pack(value.metadata_hash)} if value.metadata_hash else {})
    return _VERSION_0 + I32.pack(value.epoch) + tags


def decode_group(data: bytes) -> GroupEpoch:
    def read(reader: CompactReader) -> GroupEpoch:
        epoch, hashes = reader.i32(), [0]
        reader.tagged({0: lambda field: hashes.append(field.i64())})
        return GroupEpoch(epoch, hashes[-1])

    return _decode("a group", data, read)


def encode_target_epoch(epoch: int) -> bytes:
    return _VERSION_0 + I32.pack(epoch) + NO_TAGS


def decode_target_epoch(data: bytes) -> int:
    return _decode("the epoch of a target", data, lambda reader: reader.i32())


def encode_target(assignment: Assignment) -> bytes:
    return _VERSION_0 + encode_assignment(assignment) + NO_TAGS


def decode_target(data: bytes) -> Assignment:
    return _decode("the target of a member", data, read_assignment)


def encode_holding(holding: Holding) -> bytes:
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


def decode_holding(data: bytes) -> Holding:
    def read(reader: CompactReader) -> Holding:
        epoch, previous_epoch, state = reader.i32(), reader.i32(), reader.i8()
        known = MemberState(state) if state in (0, 1, 2) else MemberState.UNKNOWN
        return Holding(epoch, previous_epoch, known, read_assignment(reader), read_assignment(reader))

    return _decode("what a member holds", data, read)


def encode_pattern(pattern: ResolvedPattern) -> bytes:
    topics = compact.strings(sorted(pattern.topics))
    return _VERSION_0 + topics + I64.pack(pattern.version) + I64.pack(pattern.timestamp) + NO_TAGS


def decode_pattern(data: bytes) -> ResolvedPattern:
    return _decode(
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
    return _decode("a member", data, _read_member)


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


def _decode(what: str, data: bytes, read: Callable[[CompactReader], DecodedT]) -> DecodedT:
    def checked(head: FieldReader) -> DecodedT:
        version = head.i16()
        if version != 0:
            raise ValueError(f"version {version} is not known")
        reader = CompactReader(data)
        reader.position = head.position
        return read(reader)

    return decoding(what, data, checked)
