"""The states of a record in a share group, and the ways to acknowledge it, as on the wire and on disk."""

from enum import IntEnum
from typing import NamedTuple

from tidelog.base.ids import Offset, TimestampMs, Uuid

AT_ONCE: TimestampMs = -1
NO_START_OFFSET: Offset = -1
"""The group has not read the partition yet: `share.auto.offset.reset` says where it begins."""


class DeliveryState(IntEnum):
    AVAILABLE = 0
    ACQUIRED = 1
    """Held by a member. Only in memory: after a change of the leader such a record is available."""
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    """Undeliverable, and on its way to the dead-letter topic."""
    ARCHIVED = 4

    @property
    def is_done(self) -> bool:
        """Whether the record never comes again."""
        return self in (DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED)


class AckType(IntEnum):
    GAP = 0
    """There is no record at that offset."""
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


class StateBatch(NamedTuple):
    """Neighbouring records in the same state."""

    first_offset: Offset
    last_offset: Offset
    state: DeliveryState
    delivery_count: int
    available_at: TimestampMs = AT_ONCE
    """A released record that waits for its retry."""


class DeadLetterWrite(NamedTuple):
    """A batch of dead letters that was begun. Whether it was written, its sequence numbers tell: written
    again, the dead-letter topic drops it as a duplicate."""

    producer_id: int
    producer_epoch: int
    first_sequence: int
    topic_id: Uuid
    partition: int
    offsets: tuple[tuple[Offset, Offset], ...]
    """First and last offsets, ascending."""


class ShareState(NamedTuple):
    """What is stored of one group and one partition."""

    state_epoch: int
    start_offset: Offset
    batches: tuple[StateBatch, ...] = ()
    """Ascending, from the start offset on; offsets that are in none are available and were not delivered."""
    dead_letters: DeadLetterWrite | None = None
