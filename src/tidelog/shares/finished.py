"""Up to where every share group of a topic has finished a partition: what may be deleted with
`share.delete.acknowledged`. ADR 0026 says why each of these rules is there.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tidelog.base.ids import Epoch, Offset
from tidelog.shares.states import NO_START_OFFSET


class StoredStart(NamedTuple):
    """Where a group stands in a partition, as its coordinator has it."""

    start_offset: Offset
    leader_epoch: Epoch
    """Of the last leader that read or wrote the state."""


Starts = Mapping[str, Mapping[int, StoredStart]]
"""Of one topic: by group, then by partition. A group with a state at any partition is in it."""


def finished_below(starts: Starts, partition: int, leader_epoch: Epoch, log_end: Offset) -> Offset | None:
    """Returns the offset below which every group of the topic is done; None where nothing may be deleted.

    `starts` has every group of the topic. A group that has read only other partitions yet, or has not decided
    where it begins, may still want everything. A state that a later leader of the partition has read says
    that the caller leads it no more. A state beyond the end of the log speaks of records that an unclean
    election lost: the group has not seen those that get their offsets.
    """
    lowest: Offset | None = None
    for of_partitions in starts.values():
        stored = of_partitions.get(partition)
        if stored is None or stored.start_offset == NO_START_OFFSET or stored.leader_epoch > leader_epoch:
            return None
        if stored.start_offset > log_end:
            return None
        lowest = stored.start_offset if lowest is None else min(lowest, stored.start_offset)
    return lowest


def joined(parts: Iterable[tuple[str, int, StoredStart]], groups: Iterable[str]) -> Starts:
    """Returns what the shards know of one topic as one: groups, and where they stand."""
    whole: dict[str, dict[int, StoredStart]] = {group_id: {} for group_id in groups}
    for group_id, partition, start in parts:
        whole.setdefault(group_id, {})[partition] = start
    return whole
