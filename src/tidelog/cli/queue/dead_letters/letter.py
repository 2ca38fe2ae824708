"""A dead letter as it is read from a dead-letter topic: the record, where it was, and why it is here. Pure.

The headers are text that any producer can write, so numbers in them may be none.
"""

from dataclasses import dataclass
from typing import Any

from tidelog.cli.records.format import json_bytes, when
from tidelog.clients.records import TopicPartition
from tidelog.shares.dead_letters import letters as names
from tidelog.wire.record_body import Headers, Record

REDRIVEN = "tidelog-redriven"
"""The header of a record that was put back: how often that happened to it."""
NUMBER_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Letter:
    place: TopicPartition
    """The partition of the dead-letter topic."""
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    """The record's own."""
    topic: str
    """Where the record was, and the group that gave up on it."""
    partition: int | None
    source_offset: int | None
    group: str
    delivery_count: int | None
    message: str

    @property
    def has_record(self) -> bool:
        """False for a letter of headers alone: the group wants no copies, or the record was too large or
        gone."""
        return self.key is not None or self.value is not None or bool(self.headers)

    @property
    def redriven_count(self) -> int:
        return redriven_count(self.headers)

    @property
    def source(self) -> str:
        partition = "?" if self.partition is None else self.partition
        return f"{self.topic}[{partition}]@{'?' if self.source_offset is None else self.source_offset}"

    def as_json(self) -> dict[str, Any]:
        return {
            "topic": self.place.topic,
            "partition": self.place.partition,
            "offset": self.offset,
            "timestamp": self.timestamp,
            "time": when(self.timestamp),
            "source_topic": self.topic,
            "source_partition": self.partition,
            "source_offset": self.source_offset,
            "group": self.group,
            "delivery_count": self.delivery_count,
            "reason": self.message,
            "redriven_count": self.redriven_count,
            "has_record": self.has_record,
            "key": json_bytes(self.key),
            "value": json_bytes(self.value),
            "headers": [[name, json_bytes(value)] for name, value in self.headers],
        }


def read_letter(place: TopicPartition, record: Record) -> Letter | None:
    """None for a record that no share group wrote there."""
    context = {name: value for name, value in record.headers if name.startswith(names.PREFIX)}
    if names.TOPIC not in context or names.GROUP not in context:
        return None
    return Letter(
        place,
        record.offset,
        record.timestamp,
        record.key,
        record.value,
        names.own_headers(record.headers),
        _text(context.get(names.TOPIC)),
        _number(context.get(names.PARTITION)),
        _number(context.get(names.OFFSET)),
        _text(context.get(names.GROUP)),
        _number(context.get(names.DELIVERY_COUNT)),
        _text(context.get(names.MESSAGE)),
    )


def redriven_count(headers: Headers) -> int:
    """Of several such headers the last counts."""
    counts = [_number(value) for name, value in headers if name == REDRIVEN]
    return (counts[-1] or 0) if counts else 0


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "backslashreplace")


def _number(value: bytes | None) -> int | None:
    text = _text(value)
    if not text.isascii() or not text.isdigit() or len(text) > len(str(NUMBER_MAX)):
        return None
    return min(int(text), NUMBER_MAX)
