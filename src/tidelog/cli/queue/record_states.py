"""What a group has done with single records, as the leader of their partition says. Pure.

The leader tells of records that were delivered, or are done. When others are due, their headers say.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.cli.records.format import Headers
from tidelog.shares.schedule.due_times import DELAY_MS_MAX, TopicDelay
from tidelog.shares.schedule.headers import DELAY, DELIVER_AT, read_number
from tidelog.shares.states import DeliveryState, StateBatch


@dataclass(frozen=True, slots=True)
class RecordState:
    word: str
    deliveries: int | None = None
    due_ms: int | None = None

    @property
    def is_done(self) -> bool:
        return self.word == "done"


UNKNOWN = RecordState("unknown")


class RecordStates:
    """Of one partition."""

    def __init__(self, start_offset: int, batches: Sequence[StateBatch], delay: TopicDelay) -> None:
        self._start = start_offset
        self._batches = sorted(batches)
        self._firsts = [batch.first_offset for batch in self._batches]
        self._delay = delay

    def of(self, offset: int, timestamp: int | None, headers: Headers, now_ms: int) -> RecordState:
        if offset < self._start:
            return RecordState("done")
        batch = self._batch(offset)
        if batch is not None and batch.state.is_done:
            return RecordState("done", batch.delivery_count)
        if batch is not None and batch.state is DeliveryState.ARCHIVING:
            return RecordState("dying", batch.delivery_count)
        if batch is not None and batch.state is DeliveryState.ACQUIRED:
            return RecordState("in flight", batch.delivery_count)
        count = batch.delivery_count if batch is not None else 0
        if batch is not None and batch.available_at > now_ms:
            return RecordState("delayed", count, batch.available_at)
        due_ms = due_time(timestamp or 0, headers, self._delay, now_ms) if not count else now_ms
        return RecordState("scheduled", count, due_ms) if due_ms > now_ms else RecordState("available", count)

    def _batch(self, offset: int) -> StateBatch | None:
        at = bisect_right(self._firsts, offset) - 1
        found = self._batches[at] if at >= 0 else None
        return found if found is not None and offset <= found.last_offset else None


def due_time(timestamp: int, headers: Headers, delay: TopicDelay, now_ms: int) -> int:
    """When a record is due, by the rules of `tidelog.shares.schedule.due_times`, for a single record."""
    latest_ms = now_ms + DELAY_MS_MAX
    due_ms: int | None = None
    if delay.reads_headers:
        texts = dict(headers)  # of a repeated header the last counts
        for name, base in ((DELIVER_AT.decode(), 0), (DELAY.decode(), timestamp)):
            number = read_number(texts.get(name) or b"")
            if number is not None and base + number <= latest_ms:
                due_ms = max(due_ms or 0, base + number)
    if due_ms is None and delay.delay_ms and timestamp + delay.delay_ms <= latest_ms:
        due_ms = timestamp + delay.delay_ms
    return now_ms if due_ms is None else due_ms
