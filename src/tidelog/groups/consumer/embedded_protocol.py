"""What consumers of the classic protocol tell each other, read and written by the broker in their stead.

    subscription  version i16, topics []string, user data bytes?, owned [] (1+), generation i32 (2+),
                  rack string? (3+)
    assignment    version i16, assigned [], user data bytes?
Owned and assigned are: topic string, partitions []i32
"""

from collections.abc import Mapping
from struct import Struct
from typing import NamedTuple

from tidelog.groups.consumer.topics import Topics
from tidelog.groups.record_formats.assignment import Assignment
from tidelog.groups.record_formats.fields import I16, I32, FieldReader, decoding, string

VERSION_MAX = 3

ByName = Mapping[str, frozenset[int]]


class EmbeddedSubscription(NamedTuple):
    version: int
    topics: tuple[str, ...]
    owned: ByName
    """What the member has not let go of. Before version 1 members let go of all before they join."""
    rack_id: str | None


def read_subscription(data: bytes) -> EmbeddedSubscription:
    """StorageError where the bytes are something else."""
    return decoding("a subscription", data, _read_subscription)


def read_assignment(data: bytes) -> ByName:
    """Nothing for no bytes: a member that was not assigned anything yet."""
    return decoding("an assignment", data, _read_assignment) if data else {}


def write_assignment(assignment: ByName, version: int) -> bytes:
    parts = [I16.pack(min(version, VERSION_MAX)), I32.pack(len(assignment))]
    for topic, partitions in sorted(assignment.items()):
        numbers = sorted(partitions)
        parts += (string(topic), I32.pack(len(numbers)), Struct(f">{len(numbers)}i").pack(*numbers))
    parts.append(I32.pack(-1))
    return b"".join(parts)


def by_id(partitions: ByName, topics: Topics) -> Assignment:
    """Topics that are gone are left out."""
    known = ((topics.by_name.get(name), numbers) for name, numbers in partitions.items())
    return {info.topic_id: numbers for info, numbers in known if info is not None and numbers}


def by_name(assignment: Assignment, topics: Topics) -> ByName:
    names = topics.names_by_id
    return {names[topic]: numbers for topic, numbers in assignment.items() if topic in names}


def _read_subscription(reader: FieldReader) -> EmbeddedSubscription:
    version = reader.i16()
    if version < 0:
        raise ValueError("the version is negative")
    topics = tuple(reader.string() for _ in range(reader.count()))
    reader.blob()
    owned = _read_partitions(reader) if version >= 1 else {}
    if version >= 2:
        reader.i32()
    rack_id = reader.nullable_string() if version >= 3 else None
    return EmbeddedSubscription(version, topics, owned, rack_id)


def _read_assignment(reader: FieldReader) -> ByName:
    if reader.i16() < 0:
        raise ValueError("the version is negative")
    return _read_partitions(reader)


def _read_partitions(reader: FieldReader) -> ByName:
    partitions: dict[str, frozenset[int]] = {}
    for _ in range(reader.count()):
        topic = reader.string()
        partitions[topic] = frozenset(reader.i32() for _ in range(reader.count()))
    return partitions
