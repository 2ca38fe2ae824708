"""Shares out partitions, each to as many members as it takes to give every member something.

As Kafka's simple assignor: with more partitions than members, each partition has one member; with more
members than partitions, several members share one. Members keep what they have while that stays balanced.
"""

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from tidelog.base.ids import Uuid
from tidelog.groups.consumer.assignors.assignor import grouped
from tidelog.groups.record_formats.assignment import NOTHING, Assignment

Place = tuple[Uuid, int]


class Reader(NamedTuple):
    topics: frozenset[Uuid]
    """What it subscribes to, of the topics that exist."""
    target: Assignment = NOTHING
    """What the last target assignment gave it."""


def assign(partitions: Mapping[Uuid, Iterable[int]], readers: Mapping[str, Reader]) -> dict[str, Assignment]:
    """A target for every member. `partitions` are those that may be assigned.

    Where all members read the same topics, the load of all topics is balanced; otherwise that of each.
    """
    given: dict[str, list[Place]] = {name: [] for name in readers}
    subscriptions = {reader.topics for reader in readers.values()}
    together = list(subscriptions) if len(subscriptions) == 1 else [{topic} for topic in sorted(partitions)]
    for topics in together:
        places = [(topic, number) for topic in sorted(topics) for number in sorted(partitions.get(topic, ()))]
        current = {
            name: _places(reader.target, topics)
            for name, reader in readers.items()
            if topics <= reader.topics
        }
        for name, taken in share_out(places, current).items():
            given[name] += taken
    return {name: grouped(taken) for name, taken in given.items()}


def share_out(places: list[Place], current: Mapping[str, set[Place]]) -> dict[str, set[Place]]:
    """To each member a number of places that differs by at most one."""
    taken: dict[str, set[Place]] = {name: set() for name in current}
    if not places or not current:
        return taken
    sharing = -(-len(current) // len(places))
    free = dict.fromkeys(places, sharing)
    least, extra = divmod(sharing * len(places), len(current))
    known = set(places)
    kept = {name: places_of & known for name, places_of in current.items()}
    # A member that has more already gets the larger share, so that less moves.
    order = sorted(kept, key=lambda name: (-len(kept[name]), name))
    limits = {name: least + (at < extra) for at, name in enumerate(order)}
    for name in order:
        for place in sorted(kept[name]):
            if len(taken[name]) < limits[name] and free[place]:
                taken[name].add(place)
                free[place] -= 1
    heap = [(-count, place) for place, count in free.items() if count]
    heapify(heap)
    for name in sorted(taken):
        _take(heap, taken[name], least - len(taken[name]))
    more = extra - sum(len(mine) > least for mine in taken.values())
    for name in order:  # a member that shares all places that are left leaves them to the next
        if more and len(taken[name]) == least:
            more -= _take(heap, taken[name], 1)
    return taken


def _take(heap: list[tuple[int, Place]], mine: set[Place], wanted: int) -> int:
    """The places with the fewest members first. Returns how many there were."""
    found, passed = 0, []
    while found < wanted and heap:
        count, place = heappop(heap)
        if place in mine:
            passed.append((count, place))
            continue
        mine.add(place)
        found += 1
        if count < -1:
            passed.append((count + 1, place))
    for entry in passed:
        heappush(heap, entry)
    return found


def _places(assignment: Assignment, topics: Iterable[Uuid]) -> set[Place]:
    return {(topic, number) for topic in topics for number in assignment.get(topic, ())}
