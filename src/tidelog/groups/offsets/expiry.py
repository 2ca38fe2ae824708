"""Deletes offsets that no consumer needed for `offsets.retention.minutes`, and groups with nothing left.

A sweep over all groups goes in small pieces, so that a shard with a million offsets holds up no request.
"""

from collections.abc import Iterator, Mapping

from tidelog.base.ids import NO_TIMESTAMP, TimestampMs
from tidelog.groups.durable import DurableState
from tidelog.groups.group import Group
from tidelog.groups.offsets.delete import tombstone
from tidelog.groups.record_formats.offset_commit import CommittedOffset
from tidelog.groups.step import Context, Step

OFFSETS_PER_PIECE = 5_000
PAUSE_MS = 20


class OffsetSweep:
    """Runs by its own timer: a piece at a time, then a rest of `offsets.retention.check.interval.ms`."""

    def __init__(self, context: Context, durable: DurableState, groups: Mapping[str, Group]) -> None:
        self._offsets = durable.offsets
        self._pending = durable.pending
        self._groups = groups
        self._left: Iterator[str] = iter(())
        self._under_way = False
        self.timer = context.timers.timer(self._piece)

    def start(self, step: Step) -> None:
        self.timer.start(step.after_ms(step.context.settings.offsets_retention_check_interval_ms))

    def _piece(self, step: Step) -> None:
        if not self._under_way:
            self._left, self._under_way = iter(list(self._groups)), True
        looked_at = 0
        for group_id in self._left:
            if (group := self._groups.get(group_id)) is not None:
                looked_at += 1 + self._expire_group(step, group)
            if looked_at >= OFFSETS_PER_PIECE:
                self.timer.start(step.after_ms(PAUSE_MS))
                return
        self._under_way = False
        self.start(step)

    def _expire_group(self, step: Step, group: Group) -> int:
        """How many offsets were looked at."""
        retention_ms = step.context.settings.offsets_retention_ms
        looked_at, kept = 0, len(self._pending.of_group(group.id))
        expires = group.expires_offsets
        for topic, partitions in self._offsets.of_group(group.id).items():
            if not expires or group.is_subscribed(topic):
                kept += len(partitions)
                continue
            looked_at += len(partitions)
            for index, committed in partitions.items():
                if _is_expired(group, committed, step.now_ms, retention_ms):
                    step.append(tombstone(group.id, topic, index))
                else:
                    kept += 1
        if not kept and group.is_idle:
            step.records.extend(group.tombstones())
        return looked_at


def _is_expired(group: Group, committed: CommittedOffset, now_ms: TimestampMs, retention_ms: int) -> bool:
    if committed.expire_timestamp != NO_TIMESTAMP:  # an old client asked for a time of its own
        return now_ms >= committed.expire_timestamp
    return now_ms - group.unused_since(committed) >= retention_ms
