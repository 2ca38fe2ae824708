"""A queue as plain values: the members of a share group, and what each partition holds for it. Pure.

What a broker does not say is None: Apache Kafka tells start offsets and lag alone, and of a group without
members no leader knows which records are scheduled. Unknown is not zero.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from tidelog.clients.records import TopicPartition


@dataclass(frozen=True, slots=True)
class Member:
    member_id: str
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "member_id": self.member_id,
            "client_id": self.client_id,
            "host": self.host,
            "assignment": [{"topic": place.topic, "partition": place.partition} for place in self.assignment],
        }


@dataclass(frozen=True, slots=True)
class Holder:
    """A member with records in flight."""

    member_id: str
    records: int
    next_deadline_ms: int | None
    """When the first of their locks runs out."""


@dataclass(frozen=True, slots=True)
class QueuePartition:
    place: TopicPartition
    start_offset: int | None = None
    end_offset: int | None = None
    depth: int | None = None
    """Records that the group may read and has not finished: all that follow, and those not read yet."""
    in_flight: int | None = None
    scheduled: int | None = None
    """Not due yet: their headers or their topic say when."""
    delayed: int | None = None
    """Released, and waiting for their retry."""
    dying: int | None = None
    """On their way to the dead-letter topic."""
    next_due_ms: int | None = None
    oldest_ms: int | None = None
    """The time of the oldest record that is not done."""
    deliveries: tuple[tuple[int, int], ...] = ()
    """How many records were delivered how often: (deliveries, records)."""
    holders: tuple[Holder, ...] = ()
    leader: int | None = None
    """The broker that says this: the coordinator knows the start offset and the depth alone."""
    problem: str | None = None
    """Why dead letters cannot be written."""
    error: str | None = None
    """Why the leader does not say more."""

    @property
    def available(self) -> int | None:
        """Records that may be delivered now."""
        if self.depth is None or self.in_flight is None or self.scheduled is None:
            return None
        return self.depth - (add(self.in_flight, self.scheduled, self.delayed, self.dying) or 0)


@dataclass(frozen=True, slots=True)
class Queue:
    name: str
    state: str
    coordinator: int | None
    members: tuple[Member, ...] = ()
    partitions: tuple[QueuePartition, ...] = ()

    @property
    def topics(self) -> list[str]:
        return sorted(
            {part.place.topic for part in self.partitions}
            | {place.topic for member in self.members for place in member.assignment}
        )


def stored_partition(place: TopicPartition, start_offset: int | None, depth: int | None) -> QueuePartition:
    """As the coordinator knows it. Where every record is done, no member holds one."""
    in_flight = 0 if depth == 0 else None
    return QueuePartition(place, start_offset, depth=depth, in_flight=in_flight)


def add(*numbers: int | None) -> int | None:
    """The sum of what is known; None where nothing is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def total(parts: Iterable[QueuePartition], of: Callable[[QueuePartition], int | None]) -> int | None:
    return add(*map(of, parts))


def summary(queue: Queue, now_ms: int) -> dict[str, Any]:
    """What one row of a table of queues says."""
    parts = queue.partitions
    # Nothing is waiting in a queue without partitions.
    return {
        "group": queue.name,
        "state": queue.state,
        "members": len(queue.members),
        "topics": queue.topics,
        "depth": total(parts, lambda part: part.depth) if parts else 0,
        "in_flight": total(parts, lambda part: part.in_flight) if parts else 0,
        "scheduled": total(parts, lambda part: part.scheduled) if parts else 0,
        "delayed": total(parts, lambda part: part.delayed) if parts else 0,
        "dying": total(parts, lambda part: part.dying) if parts else 0,
        "oldest_age_ms": oldest_age(parts, now_ms),
    }


def oldest_age(parts: Iterable[QueuePartition], now_ms: int) -> int | None:
    times = [part.oldest_ms for part in parts if part.oldest_ms is not None]
    return max(0, now_ms - min(times)) if times else None


def deliveries(parts: Iterable[QueuePartition]) -> dict[int, int]:
    counted: Counter[int] = Counter()
    for part in parts:
        for count, records in part.deliveries:
            counted[count] += records
    return dict(sorted(counted.items()))


def merged(
    stored: Iterable[QueuePartition], reported: Iterable[QueuePartition], *, is_empty: bool = False
) -> tuple[QueuePartition, ...]:
    """What leaders report goes before what the coordinator has stored, which may be of a moment ago.

    A group without members may have been moved since its leaders loaded it: then what is stored counts.
    """
    parts = {part.place: part for part in stored}
    for part in reported:
        known = parts.get(part.place)
        if known is None:
            parts[part.place] = part
        elif part.error is not None:
            parts[part.place] = replace(known, error=part.error)
        elif not is_empty or known.start_offset == part.start_offset:
            parts[part.place] = part
    return tuple(parts[place] for place in sorted(parts))
