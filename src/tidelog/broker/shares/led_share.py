"""One share group at one partition that this broker leads: its records in memory, its state saved behind.

Fetches that find nothing wait here, the oldest first. However many wait, a new record wakes as many of them
as there are records for: the first takes what it may, and the next looks only if something is left.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence, Set
from math import inf
from typing import Protocol

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch, Offset
from tidelog.base.ports import Clock
from tidelog.broker.shares.ports import StateStore
from tidelog.broker.shares.state_saver import Done, StateSaver
from tidelog.replication.partition import Partition
from tidelog.replication.read_limit import HIGH_WATERMARK, ReadLimit
from tidelog.shares.partition.acknowledgement import AckBatch
from tidelog.shares.partition.share_partition import SharePartition
from tidelog.shares.place import SharePlace
from tidelog.shares.schedule.due_times import Due

DUE_LOOK_SECONDS = 30.0
"""Delayed records are due by the wall clock, which may jump: a look at least this often."""

log = logging.getLogger("tidelog.broker.shares")


class ShareWaiter(Protocol):
    def look(self) -> None:
        """There may be records to take."""
        ...

    def dropped(self, place: SharePlace, error: KafkaError) -> None: ...


class LedShare:
    __slots__ = (
        "_clock",
        "_is_waking",
        "_on_alarm",
        "armed_at",
        "error",
        "is_leaving",
        "last_used",
        "leader_epoch",
        "looked_to",
        "partition",
        "place",
        "read_limit",
        "saver",
        "share",
        "waiters",
    )

    share: SharePartition
    saver: StateSaver

    def __init__(
        self,
        place: SharePlace,
        partition: Partition,
        clock: Clock,
        on_alarm: "Callable[[LedShare, float], None]",
    ) -> None:
        """`on_alarm` asks for a call of `tick` at that time."""
        self.place = place
        self.partition = partition
        self.leader_epoch: Epoch = partition.leader_epoch
        self.read_limit: ReadLimit = HIGH_WATERMARK
        self.waiters: dict[ShareWaiter, None] = {}
        self.error: KafkaError | None = None
        """Why it was dropped."""
        self.looked_to: Offset = -1
        """Available records below are in batches that were looked at for records to hold back; -1 while the
        state is loading."""
        self.last_used = clock.monotonic()
        self.armed_at = inf
        self.is_leaving = False
        """No session of the group is left: to be dropped once all is saved."""
        self._clock = clock
        self._on_alarm = on_alarm
        self._is_waking = False

    def loaded(
        self,
        share: SharePartition,
        store: StateStore,
        *,
        on_saved: "Callable[[LedShare], None]",
        on_fenced: "Callable[[LedShare, KafkaError], None]",
    ) -> None:
        self.share = share
        self.looked_to = share.start_offset
        self.saver = StateSaver(
            self.place,
            share,
            store,
            leader_epoch=self.leader_epoch,
            on_saved=lambda: on_saved(self),
            on_fenced=lambda error: on_fenced(self, error),
        )
        self.arm()
        self.wake()

    @property
    def is_loaded(self) -> bool:
        return self.looked_to >= 0

    @property
    def is_current(self) -> bool:
        """Whether this broker still leads the partition, in the epoch in which the state was loaded."""
        partition = self.partition
        return partition.is_leader and partition.leader_epoch == self.leader_epoch and self.error is None

    @property
    def is_disposable(self) -> bool:
        """Whether a drop loses nothing that a load does not bring back."""
        if self.waiters or not self.is_loaded:
            return False
        return self.saver.is_saved and not self.share.acquired and not self.share.has_archiving

    @property
    def has_records(self) -> bool:
        """Whether a fetch may find something to take."""
        offset = self.share.next_offset()
        return offset is not None and offset < self.partition.readable_end(self.read_limit)

    # What members do

    def acknowledge(self, member_id: str, batches: Sequence[AckBatch], done: Done) -> bool:
        """True if there is nothing to wait for; else `done` is called when the state is saved.

        KafkaError for an acknowledgement that is refused; then nothing changes.
        """
        clock = self._clock
        now = clock.monotonic()
        self.last_used = now
        before, start = self.share.unsaved_version, self.share.start_offset
        error = self.share.acknowledge(member_id, batches, now, clock.now_ms())
        if error is not None:
            self.changed()  # locks that ran out
            raise error
        # Renewing a lock changes nothing that is saved. A record below the start offset is done, which may be
        # unsaved.
        is_above = all(batch.first >= start for batch in batches)
        is_unchanged = self.share.unsaved_version == before and is_above
        is_saved = is_unchanged or self.saver.when_saved(now, done)
        self.changed()
        return is_saved

    def release(self, member_ids: Set[str]) -> None:
        """The members left, or their sessions ended: what they hold is available again."""
        if self.is_loaded and self.error is None:
            self.share.release(member_ids, self._clock.monotonic(), self._clock.now_ms())
            self.changed()

    # Changes

    def changed(self) -> None:
        """The state changed: save it, wake fetches, and look at the clock."""
        self.saver.save()
        self.wake()
        self.arm()

    def follow_log_start(self) -> None:
        """Records that retention deleted are none of the group's any more."""
        share, log_start = self.share, self.partition.log.start
        if share.start_offset >= log_start:
            return
        before = share.archiving
        if share.move_start(log_start):
            if dropped := before - share.archiving:
                log.warning(
                    "%d dead letters of share group %s at %s-%d are dropped: retention took their records "
                    "and all of the window that begins with them",
                    *(dropped, self.place.group_id, self.partition.topic, self.partition.index),
                )
            self.changed()

    def arm(self) -> None:
        at = self.next_alarm
        if at < self.armed_at:
            self.armed_at = at
            self._on_alarm(self, at)

    @property
    def next_alarm(self) -> float:
        """When locks run out, delayed records are due, or a client has waited for long enough."""
        share = self.share
        at = inf if (deadline := share.next_deadline) is None else deadline
        if (due_ms := share.next_due_ms) is not None:
            now_ms, now = self._clock.now_ms(), self._clock.monotonic()
            at = min(at, now + min(max(0, due_ms - now_ms) / 1000, DUE_LOOK_SECONDS))
        if (answer := self.saver.next_deadline) is not None:
            at = min(at, answer)
        return at

    def due(self, ranges: Sequence[Due]) -> None:
        """The times of scheduled records have come."""
        for _, first, last in ranges:
            self.share.due(first, last)
        self.wake()

    def look_again(self) -> None:
        """When scheduled records are due is not known any more: all batches are looked at again."""
        self.share.due(self.share.start_offset, self.share.end_offset - 1)
        self.clock_went_back()
        self.wake()

    def clock_went_back(self) -> None:
        """Records that were due need not be so any more: look at their batches before they are delivered."""
        if self.is_loaded:
            self.looked_to = self.share.start_offset

    def tick(self) -> bool:
        """Returns whether it did as much as fits a turn of the loop: the alarm is set for the rest."""
        if self.error is not None:
            return False
        now, now_ms = self._clock.monotonic(), self._clock.now_ms()
        self.share.expire(now, now_ms)
        is_full = self.share.wake(now_ms)
        self.saver.expire(now)
        self.changed()
        return is_full

    def drop(self, error: KafkaError) -> None:
        """Whatever waits gets the error; nothing is delivered or saved any more."""
        if self.error is not None:
            return
        self.error = error
        self.partition.watchers.remove(self)
        if self.is_loaded:
            self.saver.stop(error)
        for waiter in tuple(self.waiters):
            waiter.dropped(self.place, error)

    # Fetches that wait

    def add(self, waiter: ShareWaiter) -> None:
        if not self.waiters:
            self.partition.watchers.add(self)
        self.waiters[waiter] = None
        if self.is_loaded and self.has_records:  # the look before was not through with all batches
            self.wake()

    def remove(self, waiter: ShareWaiter) -> None:
        self.waiters.pop(waiter, None)
        if not self.waiters:
            self.partition.watchers.remove(self)

    def on_bytes(self, count: int) -> None:
        """Records arrived; or the role of the partition changed, which the next look notices."""
        self.wake()

    def wake(self) -> None:
        """Serve those that wait, once in this turn of the loop, whatever happens in it."""
        if self.waiters and not self._is_waking:
            self._is_waking = True
            asyncio.get_running_loop().call_soon(self._serve)

    def _serve(self) -> None:
        self._is_waking = False
        for waiter in tuple(self.waiters):
            if self.is_current and self.is_loaded and not self.has_records:
                return
            waiter.look()
            if self._is_waking:  # there is more to look through, in the next turn
                return


def not_held(place: SharePlace) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_RECORD_STATE,
        f"group {place.group_id} holds no record of this partition: its lock is over, or the partition's "
        "leader changed",
    )
