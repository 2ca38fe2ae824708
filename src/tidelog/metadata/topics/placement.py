"""Where the replicas of new partitions go: a pure function of the brokers and the topic's seed.

Brokers stand in a ring that alternates racks. Each partition starts one place further, so leaders are
even; after each full turn the followers shift by one, so that the partitions of a dead broker do not all
fall to the same neighbour. No two replicas of a partition share a machine, and no rack is used twice while
another is free. A machine's brokers stand apart in the ring, so leaders are even over them as well.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId
from tidelog.base.invariant import broken
from tidelog.metadata.image.entities import BrokerImage


def place_replicas(
    brokers: Iterable[BrokerImage],
    *,
    seed: int,
    first: int,
    count: int,
    replication_factor: int,
    cordoned: int = 0,
) -> list[tuple[NodeId, ...]]:
    """Replica lists for partitions `first` to `first + count - 1`; the first replica is the leader to be.

    The seed stays with the topic: partitions that are added later continue its pattern.
    `cordoned` brokers exist besides `brokers`, and take no new replicas.
    """
    ring = _ring(brokers)
    leaders = [broker for broker in ring if broker.is_active]
    _check(replication_factor, ring, len(leaders), cordoned)
    places = {broker.id: place for place, broker in enumerate(ring)}
    known: dict[tuple[int, int], tuple[NodeId, ...]] = {}  # the pattern repeats after n * (n - 1) partitions
    placed = []
    for partition in range(first, first + count):
        turn, start = divmod(seed + partition, len(leaders))
        key = start, turn % max(1, len(ring) - 1)
        if key not in known:
            known[key] = _place_one(ring, places[leaders[start].id], key[1], replication_factor)
        placed.append(known[key])
    return placed


def _ring(brokers: Iterable[BrokerImage]) -> list[BrokerImage]:
    racks: dict[str, list[BrokerImage]] = {}
    for broker in sorted(brokers, key=lambda broker: broker.id):
        racks.setdefault(broker.rack or "", []).append(broker)
    return _alternated(_apart(racks[rack]) for rack in sorted(racks))


def _apart(brokers: Iterable[BrokerImage]) -> list[BrokerImage]:
    """The first broker of each machine, then the second ones. The order stays where none share a machine."""
    machines: dict[str | NodeId, list[BrokerImage]] = {}
    for broker in brokers:
        machines.setdefault(broker.machine_key, []).append(broker)
    return _alternated(machines.values())


def _alternated(groups: Iterable[Sequence[BrokerImage]]) -> list[BrokerImage]:
    return [broker for row in zip_longest(*groups) for broker in row if broker is not None]


def _place_one(
    ring: Sequence[BrokerImage], place: int, shift: int, replication_factor: int
) -> tuple[NodeId, ...]:
    """The leader is at `place` of the ring; those behind it are asked in turn, beginning `shift` further."""
    leader, others = ring[place], len(ring) - 1
    chosen, machines = [leader], {leader.machine_key}
    used = dict.fromkeys((broker.rack for broker in ring), 0) | {leader.rack: 1}
    while len(chosen) < replication_factor:
        behind = (ring[(place + 1 + (shift + step) % others) % len(ring)] for step in range(others))
        best = _best((broker for broker in behind if broker.machine_key not in machines), used)
        chosen.append(best)
        machines.add(best.machine_key)
        used[best.rack] += 1
    return tuple(broker.id for broker in chosen)


def _best(candidates: Iterable[BrokerImage], used: Mapping[str | None, int]) -> BrokerImage:
    """The first in order among equals; a dead broker is better than a second one in a rack.

    Ends at a candidate that nothing can be better than, so that few are looked at, however many there are.
    """
    perfect = min(used.values()), False
    found: tuple[tuple[int, bool], BrokerImage] | None = None
    for broker in candidates:
        rank = used[broker.rack], not broker.is_active
        if found is None or rank < found[0]:
            found = rank, broker
            if rank == perfect:
                break
    if found is None:
        broken("no machine is left for a replica")
    return found[1]


def _check(replication_factor: int, brokers: Sequence[BrokerImage], active: int, cordoned: int) -> None:
    registered, machines = len(brokers), len({broker.machine_key for broker in brokers})
    besides = f" and {cordoned} more are cordoned" if cordoned else ""
    if replication_factor > registered:
        reason = (
            f"The target replication factor of {replication_factor} cannot be reached because only "
            f"{registered} broker(s) are registered{besides}."
        )
    elif replication_factor > machines:
        reason = (
            f"Two replicas never share a machine, and the {registered} registered broker(s) run on only "
            f"{machines} machine(s){besides}."
        )
    elif not active:
        reason = "All brokers are currently fenced or in controlled shutdown."
    else:
        return
    raise KafkaError(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        f"Unable to replicate the partition {replication_factor} time(s): {reason}",
    )
