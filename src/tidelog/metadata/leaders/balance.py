"""Plans that even out a cluster: after brokers were added, and before one is taken away.

Machines and racks come first, then the number of replicas of each broker, then the number of leaders, each
with as few changes as will do. A plan is a pure function of what it is given, so a dry run shows what will
be done. Copying a replica is dear and a new order of a list is free: leaders are evened out by order
alone.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise

import msgspec

from tidelog.base.errors import TidelogError
from tidelog.base.ids import NodeId
from tidelog.metadata.leaders.layout import Layout, PartitionKey, PlacedPartition, Replicas, UsableBroker


class PlanError(TidelogError):
    """There is no plan; the message says why, and what would help."""


class Move(msgspec.Struct, frozen=True):
    """One partition's new replica list, the preferred leader first."""

    topic: str
    partition: int
    before: Replicas
    after: Replicas

    @property
    def copied(self) -> int:
        """Replicas that have to be copied; none where only the order changes."""
        return len(set(self.after) - set(self.before))


def plan_rebalance(
    usable_brokers: Sequence[UsableBroker], partitions: Sequence[PlacedPartition]
) -> list[Move]:
    """Spread replicas and leaders over `usable_brokers`; what is on other brokers is brought there too."""
    layout = _layout(usable_brokers, partitions)
    _house(layout)
    _relax_racks(layout)
    _even_replicas(layout)
    _even_leaders(layout, layout.replicas)
    return _moves(partitions, layout)


def plan_drain(
    usable_brokers: Sequence[UsableBroker],
    partitions: Sequence[PlacedPartition],
    leaving: Collection[NodeId],
    others: Sequence[UsableBroker] = (),
) -> list[Move]:
    """Take all replicas from these brokers and touch no partition that has none there.

    `others` keep their replicas and take none, since they are not alive or are cordoned.
    """
    rest = [usable for usable in usable_brokers if usable.broker_id not in leaving]
    here = [placed for placed in partitions if not set(leaving).isdisjoint(placed.replicas)]
    layout = _layout(rest, partitions, needed=here, others=others)
    affected = {(placed.topic, placed.partition): None for placed in here}
    _house(layout, leaving)
    _even_leaders(layout, affected)
    return _moves(here, layout)


def _layout(
    usable_brokers: Sequence[UsableBroker],
    partitions: Sequence[PlacedPartition],
    needed: Sequence[PlacedPartition] | None = None,
    others: Sequence[UsableBroker] = (),
) -> Layout:
    machines = len({usable.machine_key for usable in usable_brokers})
    word = "broker" if machines == len(usable_brokers) else "machine"
    for placed in partitions if needed is None else needed:
        if len(placed.replicas) > machines:
            replicas = _counted(len(placed.replicas), "replica")
            left = f"only {_counted(machines, word)}" if usable_brokers else "no other broker"
            raise PlanError(
                f"partition {placed.topic}-{placed.partition} has {replicas}, and {left} would be left "
                f"to hold them; add a {word} first, or lower the topic's replication factor by a reassignment"
            )
    return Layout(usable_brokers, partitions, others)


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _house(layout: Layout, only: Collection[NodeId] | None = None) -> None:
    """Bring replicas from brokers that may not hold any to those that may."""
    for key, gone in layout.misplaced():
        if only is None or gone in only:
            target = layout.best_target(key, gone)
            if target is not None:  # there are enough brokers for every list
                layout.move(key, gone, target)


def _relax_racks(layout: Layout) -> None:
    """Move replicas out of machines and racks that hold more of a partition than they need to."""
    for key in layout.replicas:
        while any(crowded := layout.strain(layout.replicas[key])):
            options = [
                (layout.strain(layout.swapped(key, leaves, target)), -layout.load[leaves], leaves, target)
                for leaves in layout.replicas[key]
                if (target := layout.best_target(key, leaves)) is not None
            ]
            if not options or min(options)[0] >= crowded:
                break
            _, _, leaves, target = min(options)
            layout.move(key, leaves, target)


def _even_replicas(layout: Layout) -> None:
    _even_out(layout.load, layout.movable, layout.move)


def _even_leaders(layout: Layout, keys: Iterable[PartitionKey]) -> None:
    """Give leaderships away to followers, by the order of `keys`' replica lists alone."""
    leads = dict.fromkeys(layout.racks, 0)
    followers: dict[tuple[NodeId, NodeId], dict[PartitionKey, None]] = {}
    chosen = dict.fromkeys(keys)
    for key, replicas in layout.replicas.items():
        if replicas[0] in leads:
            leads[replicas[0]] += 1
        if key in chosen:
            for other in replicas[1:]:
                followers.setdefault((replicas[0], other), {})[key] = None

    def movable(leader: NodeId, follower: NodeId) -> PartitionKey | None:
        return next(iter(followers.get((leader, follower), ())), None)

    def move(key: PartitionKey, leader: NodeId, follower: NodeId) -> None:
        old = layout.replicas[key]
        new = tuple({leader: follower, follower: leader}.get(broker, broker) for broker in old)
        for other in old[1:]:
            del followers[leader, other][key]
        for other in new[1:]:
            followers.setdefault((follower, other), {})[key] = None
        layout.replicas[key] = new
        leads[leader] -= 1
        leads[follower] += 1

    _even_out(leads, movable, move)


def _even_out(
    load: dict[NodeId, int],
    movable: Callable[[NodeId, NodeId], PartitionKey | None],
    move: Callable[[PartitionKey, NodeId, NodeId], None],
) -> None:
    """Shift load from full to empty brokers, over others in between where there is no direct way.

    Each shift takes one from a broker and gives it to one that has at least two less, so this ends. When no
    such way is left no other distribution is more even, as in any flow; racks may forbid some that are.
    """
    moved = True
    while moved:
        moved = False
        sources = set(load)
        while sources:
            fullest = max(sources, key=lambda broker: (load[broker], -broker))
            way = _way(fullest, load, movable)
            if way is not None and _shift(way, movable, move):
                moved = True
            else:
                sources.remove(fullest)  # to be tried again once the others are done


def _shift(
    way: list[NodeId],
    movable: Callable[[NodeId, NodeId], PartitionKey | None],
    move: Callable[[PartitionKey, NodeId, NodeId], None],
) -> bool:
    """One move for each step of the way, or none at all where one of them is in the way of another."""
    done: list[tuple[PartitionKey, NodeId, NodeId]] = []
    for leaves, comes in reversed(list(pairwise(way))):
        key = movable(leaves, comes)
        if key is None:
            for made, back, away in reversed(done):
                move(made, away, back)
            return False
        move(key, leaves, comes)
        done.append((key, leaves, comes))
    return True


def _way(
    start: NodeId, load: dict[NodeId, int], movable: Callable[[NodeId, NodeId], PartitionKey | None]
) -> list[NodeId] | None:
    """The shortest chain of possible moves from `start` to the emptiest broker that gains by it."""
    if load[start] - min(load.values()) < 2:
        return None
    goals = sorted((broker for broker in load if load[broker] <= load[start] - 2), key=lambda b: load[b])
    for goal in goals:
        if movable(start, goal) is not None:
            return [start, goal]
    came_from: dict[NodeId, NodeId] = {}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for there, has in load.items():
            if there == start or there in came_from or movable(here, there) is None:
                continue
            came_from[there] = here
            if has <= load[start] - 2:
                way = [there]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            queue.append(there)
    return None


def _moves(partitions: Sequence[PlacedPartition], layout: Layout) -> list[Move]:
    return [
        Move(placed.topic, placed.partition, placed.replicas, after)
        for placed in sorted(partitions, key=lambda placed: (placed.topic, placed.partition))
        if (after := layout.replicas[placed.topic, placed.partition]) != placed.replicas
    ]
