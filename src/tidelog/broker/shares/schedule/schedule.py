"""Holds records of share groups back until they are due, and lets them go.

Whatever a group reads is looked at once for each load of its state: a batch without the headers costs a
search in its bytes. Partitions with scheduled records have an index of their times; others cost nothing.
"""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Final

from tidelog.base.ids import Offset, TimestampMs
from tidelog.base.ports import File
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.shares.led_share import LedShare
from tidelog.broker.shares.schedule.partition_schedule import PartitionSchedule
from tidelog.broker.shares.schedule.topic_delays import TopicDelays
from tidelog.broker.shares.share_partitions import SharePartitions
from tidelog.replication.partition import Partition
from tidelog.shares.schedule.due_times import DueTimes, due_times
from tidelog.shares.schedule.memory import ScheduleMemory
from tidelog.wire.batch import BatchHeader

MEMORY_BYTES = "group.share.schedule.memory.bytes"
LOG_SECONDS: Final = 60.0

log = logging.getLogger("tidelog.broker.shares")


class Schedule:
    """Serves as `HeldBack` of the share partitions."""

    __slots__ = (
        "_clock",
        "_delays",
        "_latest_ms",
        "_logged_at",
        "_partitions",
        "_shares",
        "bad_headers",
        "memory",
    )

    def __init__(self, shares: SharePartitions, metadata: MetadataService) -> None:
        self._shares = shares
        self._clock = shares.clock
        self._latest_ms = self._clock.now_ms()
        """The time of the last look at the clock."""
        self._delays = TopicDelays(metadata)
        self._partitions: dict[Partition, PartitionSchedule] = {}
        self._logged_at = -LOG_SECONDS
        self.memory = ScheduleMemory(metadata.config.int(MEMORY_BYTES))
        self.bad_headers = 0
        """Headers that say no time, or one that is more than a year ahead."""
        shares.held_back = self
        shares.scheduled_due = self.next_due_ms
        shares.on_dropped.append(self._dropped)

    def __len__(self) -> int:
        """Entries of all indexes: neighbours that are due together are one."""
        return sum(map(len, self._partitions.values()))

    @property
    def file_bytes(self) -> int:
        return sum(schedule.file_bytes for schedule in self._partitions.values())

    def next_due_ms(self, led: LedShare) -> TimestampMs | None:
        """When the next scheduled record of the partition is due; None where the group waits for none."""
        schedule = self._partitions.get(led.partition)
        return None if schedule is None or not led.share.scheduled else schedule.next_ms

    def check_clock(self) -> None:
        self._now_ms()

    def _now_ms(self) -> TimestampMs:
        """Every look at the clock for a decision, so that none that goes back is missed."""
        now_ms = self._clock.now_ms()
        if now_ms < self._latest_ms:
            for led in self._shares:
                led.clock_went_back()
        self._latest_ms = now_ms
        return now_ms

    def in_batch(
        self, led: LedShare, file: File, position: int, header: BatchHeader
    ) -> Sequence[tuple[Offset, Offset]]:
        """OSError if the batch cannot be read: without a look at it, none of its records is delivered."""
        delay = self._delays.of(led.place.topic_id)
        if delay.is_off:
            return ()
        now_ms = self._now_ms()
        if not delay.reads_headers and header.max_timestamp + delay.delay_ms <= now_ms:
            return ()
        found = due_times(file.read_at(position, header.size), header, delay, now_ms)
        if found.bad_headers:
            self._note_bad(led, found)
        schedule = self._partitions.get(led.partition)
        if schedule is None:
            if not found.later:
                return ()
            schedule = self._partitions[led.partition] = PartitionSchedule(
                led.partition,
                self.memory,
                self._clock,
                self._now_ms,
                partial(self._delays.of, led.place.topic_id),
            )
        schedule.add(led, header.base_offset, header.last_offset, found.later, now_ms)
        return [(due.first, due.last) for due in found.later]

    def _note_bad(self, led: LedShare, found: DueTimes) -> None:
        self.bad_headers += found.bad_headers
        now = self._clock.monotonic()
        if now - self._logged_at >= LOG_SECONDS:
            self._logged_at = now
            log.warning(
                "%s-%d: %s. Such a record is delivered without a delay; %d such headers since the start",
                *(led.partition.topic, led.partition.index, found.bad_example, self.bad_headers),
            )

    def _dropped(self, led: LedShare) -> None:
        schedule = self._partitions.get(led.partition)
        if schedule is not None:
            schedule.remove(led)
            if not schedule.has_shares:
                del self._partitions[led.partition]
                schedule.close()
