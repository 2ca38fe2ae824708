"""When the records of a batch may be delivered to share groups: their headers decide, then their topic.

A header goes before the topic's delay, and of two headers the later time counts. A header that says no time,
or a time more than a year ahead, is as if it were not there: a record that comes at once shows the mistake
to its user, while a record that is held for ever is lost. Such headers are counted and logged.
"""

from typing import Final, NamedTuple

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Offset, TimestampMs
from tidelog.base.ports import Buffer
from tidelog.shares.schedule.headers import DELAY, DELIVER_AT, MARK, read_delays, read_number
from tidelog.wire.batch import CODEC_MASK, HEADER, BatchHeader
from tidelog.wire.compression import Codec
from tidelog.wire.record_outline import record_bytes

DELAY_MS_MAX: Final = 366 * 24 * 3_600_000
"""A year, a leap year too."""
SPREAD_MS: Final = 5
"""Records of a batch whose timestamps are no further apart come together, at the time of the last."""


class TopicDelay(NamedTuple):
    """The settings of a topic that hold its records back."""

    delay_ms: int = 0
    reads_headers: bool = True

    @property
    def is_off(self) -> bool:
        return not self.reads_headers and not self.delay_ms


class Due(NamedTuple):
    """Neighbouring records with the same time; sorts by that time."""

    due_ms: TimestampMs
    first: Offset
    last: Offset


class DueTimes(NamedTuple):
    later: tuple[Due, ...] = ()
    """Records that are not due yet, by offset. All others of the batch are."""
    bad_headers: int = 0
    bad_example: str = ""


ALL_DUE: Final = DueTimes()


def due_times(batch: Buffer, header: BatchHeader, topic: TopicDelay, now_ms: TimestampMs) -> DueTimes:
    """The records of a batch of the log that must wait at `now_ms`. `batch` begins with its header."""
    if header.is_control or header.record_count <= 0:
        return ALL_DUE
    data = _data_with_headers(batch, header) if topic.reads_headers else None
    delay_ms = topic.delay_ms
    if data is None:
        if not delay_ms or header.max_timestamp + delay_ms <= now_ms:
            return ALL_DUE
        due_ms = header.max_timestamp + delay_ms
        is_one = header.is_log_append_time or 0 <= header.max_timestamp - header.base_timestamp <= SPREAD_MS
        if is_one and due_ms <= now_ms + DELAY_MS_MAX:
            return DueTimes((Due(due_ms, header.base_offset, header.last_offset),))
    try:
        if data is None:
            data = record_bytes(batch, header)
        return _walk(data, header, delay_ms, now_ms)
    except (KafkaError, IndexError, ValueError):
        return ALL_DUE  # clients cannot read it either, and say so; held back, they never would


def _data_with_headers(batch: Buffer, header: BatchHeader) -> bytes | None:
    """The records uncompressed, if a header may be among them."""
    if header.attributes & CODEC_MASK == Codec.NONE and not isinstance(batch, memoryview):
        if batch.find(MARK, HEADER.size, header.size) < 0:
            return None
        return bytes(batch[HEADER.size : header.size])
    try:
        data = record_bytes(batch, header)
    except KafkaError:
        return None
    return data if MARK in data else None


def _walk(data: bytes, header: BatchHeader, delay_ms: int, now_ms: TimestampMs) -> DueTimes:
    latest_ms = now_ms + DELAY_MS_MAX
    later: list[Due] = []
    bad_headers, bad_example = 0, ""
    due_ms = first = last = -1
    for offset, timestamp, deliver_at, delay in read_delays(data, header):
        record_ms: TimestampMs | None = None
        if deliver_at is not None:
            record_ms = read_number(deliver_at)
            if record_ms is None or record_ms > latest_ms:
                record_ms = None
                bad_headers += 1
                bad_example = bad_example or _example(offset, DELIVER_AT, deliver_at)
        if delay is not None:
            number = read_number(delay)
            if number is None or timestamp + number > latest_ms:
                bad_headers += 1
                bad_example = bad_example or _example(offset, DELAY, delay)
            else:
                record_ms = max(record_ms or 0, timestamp + number)
        if record_ms is None:
            record_ms = timestamp + delay_ms if delay_ms else now_ms
            if record_ms > latest_ms:
                record_ms = now_ms
        if record_ms == due_ms and offset == last + 1:
            last = offset
            continue
        if due_ms > now_ms:
            later.append(Due(due_ms, first, last))
        due_ms, first, last = record_ms, offset, offset
    if due_ms > now_ms:
        later.append(Due(due_ms, first, last))
    return DueTimes(tuple(later), bad_headers, bad_example)


def _example(offset: Offset, name: bytes, text: bytes) -> str:
    shown = text[:40].decode("ascii", "backslashreplace")
    return f"{name.decode()} of the record at offset {offset} is {shown!r}"
