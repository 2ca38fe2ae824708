"""Partitions by topic id, as the records of the new kind of group hold them.

topic partitions []: topic id uuid, partitions []i32
"""

from collections.abc import Hashable
from struct import Struct
from typing import TypeAlias, TypeVar

from tidelog.base.ids import Uuid
from tidelog.groups.record_formats.compact import NO_TAGS, CompactReader, array
from tidelog.wire.primitives import uvarint

PartT = TypeVar("PartT", bound=Hashable)
"""What partitions are numbered within: a topic, or a part of a streams topology."""

Parts: TypeAlias = dict[PartT, frozenset[int]]
"""To partitions. Never changed once made, and without empty sets, so that equal ones are equal."""

Assignment: TypeAlias = Parts[Uuid]
"""Topic id to partitions."""

NOTHING: Assignment = {}


def encode_assignment(assignment: Assignment) -> bytes:
    """Sorted, so that one assignment has one form."""
    return array(
        (
            topic + uvarint(len(partitions) + 1) + _numbers(sorted(partitions)) + NO_TAGS
            for topic, partitions in sorted(assignment.items())
        ),
        len(assignment),
    )


def read_assignment(reader: CompactReader) -> Assignment:
    assignment: Assignment = {}
    for _ in range(reader.count()):
        topic = reader.uuid()
        partitions = frozenset(reader.numbers())
        reader.tags()
        if partitions:
            assignment[topic] = assignment.get(topic, frozenset()) | partitions
    return assignment


def _numbers(values: list[int]) -> bytes:
    return Struct(f">{len(values)}i").pack(*values)
