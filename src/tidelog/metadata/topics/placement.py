"""Where the replicas of new partitions go: a pure function of the brokers and the topic's seed.

Brokers stand in a ring that alternates racks. Each partition starts one place further, so leaders are
even; after each full turn the followers shift by one, so that the partitions of a dead broker do not all
fall to the same neighbour. No two replicas of a partition share a machine, and no rack is used twice while
another is free. A machine's brokers stand apart in the ring, so leaders are even over them as well.
"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId
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
    known: dict[tuple[int, int], tuple[NodeId, ...]] = {}  # the pattern repeats after n * (n - 1) partitions
    placed = []
    for partition in range(first, first + count):
        turn, start = divmod(seed + partition, len(leaders))
        key = start, turn % max(1, len(ring) - 1)
        if key not in known:
            known[key] = _place_one(ring, leaders[start], key[1], replication_factor)
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
    ring: Sequence[BrokerImage], leader: BrokerImage, shift: int, replication_factor: int
) -> tuple[NodeId, ...]:
    place = ring.index(leader)
    others = [*ring[place + 1 :], *ring[:place]]
    others = [*others[shift:], *others[:shift]]
    chosen = [leader]
    used = {leader.rack: 1}
    while len(chosen) < replication_factor:
        others = [broker for broker in others if broker.machine_key != chosen[-1].machine_key]
        # min() keeps the ring's order among equals; a dead broker is better than a second one in a rack
        best = min(others, key=lambda broker: (used.get(broker.rack, 0), not broker.is_active))
        chosen.append(best)
        used[best.rack] = used.get(best.rack, 0) + 1
    return tuple(broker.id for broker in chosen)


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
