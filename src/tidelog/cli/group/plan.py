"""What a reset would do: for each partition the offset that a target means there. Pure.

An offset never leaves the log: what lies before its start or after its end becomes the start or the end,
and the note says so.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.cli.group.target import Goal, Target
from tidelog.cli.records.spans import Bounds
from tidelog.clients.records import TopicPartition

NOTHING_COMMITTED = "nothing is committed; left alone"
PARTITION_GONE = "the partition does not exist or has no leader; left alone"


@dataclass(frozen=True, slots=True)
class Standing:
    """What is so now, in one partition."""

    place: TopicPartition
    committed: int | None
    bounds: Bounds | None  # None where the partition is gone
    by_time: int | None = None  # the first offset at or after the target's time, where there is one


@dataclass(frozen=True, slots=True)
class Step:
    """What would change in one partition; nothing where `offset` is None."""

    place: TopicPartition
    committed: int | None
    bounds: Bounds | None
    offset: int | None
    note: str | None = None

    @property
    def lag(self) -> int | None:
        return None if self.offset is None or self.bounds is None else self.bounds.high - self.offset

    def as_json(self) -> dict[str, Any]:
        return {
            "topic": self.place.topic,
            "partition": self.place.partition,
            "start_offset": self.bounds.low if self.bounds else None,
            "end_offset": self.bounds.high if self.bounds else None,
            "current_offset": self.committed,
            "new_offset": self.offset,
            "new_lag": self.lag,
            "note": self.note,
        }


def plan_target(standings: Iterable[Standing], target: Target) -> list[Step]:
    return [_step(standing, _meant(standing, target)) for standing in standings]


def plan_offsets(standings: Iterable[Standing], offsets: Mapping[TopicPartition, int]) -> list[Step]:
    """Each partition to an offset of its own, as a file gives them."""
    return [_step(standing, offsets[standing.place]) for standing in standings]


def changes(steps: Iterable[Step]) -> dict[TopicPartition, int]:
    """What is to be committed. Also where the offset stays: that keeps it from expiring."""
    return {step.place: step.offset for step in steps if step.offset is not None}


def _meant(standing: Standing, target: Target) -> int | None:
    """None where the target means nothing without a committed offset."""
    bounds = standing.bounds
    if bounds is None:
        return None
    match target.goal:
        case Goal.EARLIEST:
            return bounds.low
        case Goal.LATEST:
            return bounds.high
        case Goal.TIME:
            return bounds.high if standing.by_time is None else standing.by_time
        case Goal.OFFSET:
            return target.number
        case Goal.CURRENT:
            return standing.committed
        case Goal.SHIFT:
            return None if standing.committed is None else standing.committed + target.number


def _step(standing: Standing, meant: int | None) -> Step:
    place, committed, bounds = standing.place, standing.committed, standing.bounds
    if bounds is None:
        return Step(place, committed, None, None, PARTITION_GONE)
    if meant is None:
        return Step(place, None, bounds, None, NOTHING_COMMITTED)
    if meant < bounds.low:
        return Step(place, committed, bounds, bounds.low, f"{meant} is before the start")
    if meant > bounds.high:
        return Step(place, committed, bounds, bounds.high, f"{meant} is after the end")
    return Step(place, committed, bounds, meant)
