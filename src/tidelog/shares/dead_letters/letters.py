"""A dead letter: the record that a share group gave up on, and headers that say where it was and why.

The names and texts are Kafka's (KIP-1191). The headers replace those of the same names that the record may
have: it can be a dead letter itself, or its producer can have made them up.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from tidelog.base.ids import Offset, TimestampMs
from tidelog.wire.record_body import Headers, Record

PREFIX = "__dlq.errors."
TOPIC = f"{PREFIX}topic"
PARTITION = f"{PREFIX}partition"
OFFSET = f"{PREFIX}offset"
GROUP = f"{PREFIX}group"
DELIVERY_COUNT = f"{PREFIX}delivery.count"
MESSAGE = f"{PREFIX}message"


class Reason(StrEnum):
    REJECTED = "Offset rejected by client."
    TOO_OFTEN = "Offset delivery count exceeded the threshold."


NO_RECORD = "The record could not be read: its log no longer has it, or it is damaged."
TOO_LARGE = "The record is too large for the dead-letter topic, so this dead letter has only these headers."


class Origin(NamedTuple):
    """The share partition that dead letters come from."""

    topic: str
    partition: int
    group: str


class FailedRecord(NamedTuple):
    """A record of that partition that its group gave up on."""

    offset: Offset
    delivery_count: int
    reason: Reason


def write_letters(
    origin: Origin,
    failed: Sequence[FailedRecord],
    records: Mapping[Offset, Record] | None,
    now_ms: TimestampMs,
) -> list[Record]:
    """Returns a dead letter for each failed record, in their order, with offsets that count up from 0.

    `records` are those that could be read; None: the group wants no copies. The time is that of the dead
    letter, so that it is kept for as long as the dead-letter topic says, however old the record was.
    """
    letters: list[Record] = []
    for number, (offset, delivery_count, reason) in enumerate(failed):
        text, record = str(reason), None
        if records is not None:
            record = records.get(offset)
            if record is None:
                text = f"{text} {NO_RECORD}"
        headers = context_headers(origin, offset, delivery_count, text)
        if record is None:
            letters.append(Record(number, now_ms, None, None, headers))
        else:
            letters.append(
                Record(number, now_ms, record.key, record.value, [*own_headers(record.headers), *headers])
            )
    return letters


def context_headers(origin: Origin, offset: Offset, delivery_count: int, message: str) -> Headers:
    texts = (
        (TOPIC, origin.topic),
        (PARTITION, str(origin.partition)),
        (OFFSET, str(offset)),
        (GROUP, origin.group),
        (DELIVERY_COUNT, str(delivery_count)),
        (MESSAGE, message),
    )
    return [(name, text.encode()) for name, text in texts]


def own_headers(headers: Headers) -> Headers:
    """Returns the headers that the record had before it became a dead letter."""
    return [(name, value) for name, value in headers if not name.startswith(PREFIX)]


def without_record(letter: Record) -> Record:
    """Returns the dead letter with nothing of its record but the headers that say where that is."""
    headers: Headers = []
    for name, value in letter.headers:
        if name == MESSAGE and value is not None:
            headers.append((name, f"{value.decode()} {TOO_LARGE}".encode()))
        elif name.startswith(PREFIX):
            headers.append((name, value))
    return letter._replace(key=None, value=None, headers=headers)
