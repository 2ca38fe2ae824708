"""The scheduled records of one partition, for all share groups that read it here: made with the first one.

A timer looks at the index when the next record is due, and at least twice a minute, since the wall clock may
jump. What is due becomes available to every group.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from tidelog.base.ids import Offset, TimestampMs
from tidelog.base.ports import Clock
from tidelog.broker.shares.led_share import DUE_LOOK_SECONDS, LedShare
from tidelog.replication.partition import Partition
from tidelog.shares.schedule.due_times import Due, TopicDelay
from tidelog.shares.schedule.index import DueIndex
from tidelog.shares.schedule.memory import ScheduleMemory

POPPED_MAX: Final = 1000
"""Entries of the index that one turn of the event loop takes: a few milliseconds."""
STALE_MIN: Final = 100_000
"""Entries of records that are not scheduled any more, such as those that retention took: with so many, and as
many again as there are scheduled records, the index is made anew."""


class PartitionSchedule:
    __slots__ = (
        "_clock",
        "_delay",
        "_delay_of_topic",
        "_index",
        "_now_ms",
        "_shares",
        "_timer",
        "_timer_at",
        "partition",
    )

    def __init__(
        self,
        partition: Partition,
        memory: ScheduleMemory,
        clock: Clock,
        now_ms: Callable[[], TimestampMs],
        delay_of_topic: Callable[[], TopicDelay],
    ) -> None:
        self._clock = clock
        self._now_ms = now_ms
        self._delay_of_topic = delay_of_topic
        self._delay = delay_of_topic()
        self._index = DueIndex(partition.log.files.disk, lambda: partition.log.directory, memory)
        self._shares: dict[LedShare, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    def __len__(self) -> int:
        """Entries of the index: neighbours that are due together are one."""
        return len(self._index)

    @property
    def next_ms(self) -> TimestampMs | None:
        return self._index.next_ms

    @property
    def file_bytes(self) -> int:
        return self._index.file_bytes

    @property
    def has_shares(self) -> bool:
        return bool(self._shares)

    def add(
        self, led: LedShare, first: Offset, last: Offset, later: Sequence[Due], now_ms: TimestampMs
    ) -> None:
        """Takes the times of a batch from `first` to `last`, as a group reads it."""
        self._shares[led] = None
        self._index.add(first, last, later, now_ms)
        self._arm(now_ms)

    def remove(self, led: LedShare) -> None:
        self._shares.pop(led, None)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._index.close()

    def _arm(self, now_ms: TimestampMs) -> None:
        next_ms = self._index.next_ms
        if next_ms is None:
            return
        now = self._clock.monotonic()
        at = now + min(max(0, next_ms - now_ms) / 1000, DUE_LOOK_SECONDS)
        if self._timer is not None:
            if self._timer_at <= at:
                return
            self._timer.cancel()
        self._timer_at = at
        self._timer = asyncio.get_running_loop().call_later(at - now, self._look)

    def _look(self) -> None:
        self._timer = None
        now_ms = self._now_ms()
        if (delay := self._delay_of_topic()) != self._delay or self._is_stale:
            # Times follow old settings, or are of records that are gone: every record is looked at anew.
            self._delay = delay
            self._index.forget()
            self._look_again()
            return
        popped = self._index.pop(now_ms, POPPED_MAX)
        if popped.is_all:
            self._look_again()
        elif popped.ranges:
            for led in self._shares:
                led.due(popped.ranges)
        self._arm(now_ms)

    @property
    def _is_stale(self) -> bool:
        scheduled = sum(led.share.scheduled for led in self._shares)
        return len(self._index) > 2 * scheduled + STALE_MIN

    def _look_again(self) -> None:
        for led in self._shares:
            led.look_again()
