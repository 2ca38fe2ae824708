"""Where replicas are to go: pure plans from what is there, with as few copies as the wish allows.

A plan is an assignment like the present one; what differs between the two are the moves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidelog.cli.cluster.view import Broker, ClusterView, numbers_text
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.reassign.calls import Assignment
from tidelog.clients.records import TopicPartition


@dataclass(frozen=True, slots=True)
class Move:
    place: TopicPartition
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def adding(self) -> tuple[int, ...]:
        """Brokers that must copy the partition. Without any, only the order or number of replicas changes."""
        return tuple(id for id in self.after if id not in self.before)

    @property
    def removing(self) -> tuple[int, ...]:
        return tuple(id for id in self.before if id not in self.after)


def moves_between(before: Assignment, after: Assignment) -> list[Move]:
    return [
        Move(place, before[place], after[place]) for place in sorted(after) if after[place] != before[place]
    ]


def allowed_brokers(view: ClusterView, wanted: Sequence[int]) -> list[Broker]:
    """The brokers that were named, which must be alive to take replicas."""
    chosen = [view.broker(id) for id in dict.fromkeys(wanted)]
    if dead := [broker.id for broker in chosen if broker.fenced]:
        raise CliError(
            f"Nothing can move to {numbers_text(dead)}, which is not alive.",
            attempt="start it, or leave it out of --brokers; tidelog cluster brokers shows which are alive",
            code=Exit.REFUSED,
        )
    return chosen


def fitted(
    current: Assignment,
    brokers: Sequence[Broker],
    factor: int | None,
    in_sync: Mapping[TopicPartition, Sequence[int]],
) -> dict[TopicPartition, tuple[int, ...]]:
    """The same partitions on these brokers alone, with `factor` replicas (or as many as now).

    Replicas that may stay do so, and the preferred leader stays in front. New ones go to the broker with the
    fewest, on a machine that the partition is not on, and on another rack if there is one.
    """
    plan = _Plan(brokers)
    machines = len(set(plan.machines.values()))
    kept = {}
    for place, replicas in current.items():
        wanted = factor or len(replicas)
        if wanted > len(brokers):
            raise CliError(
                f"{place} cannot have {wanted} replicas on {len(brokers)} "
                f"broker{'s' if len(brokers) != 1 else ''} ({numbers_text(plan.racks)}).",
                cause="a broker holds one replica of a partition at most.",
                attempt="more brokers, or a smaller --replication-factor",
                code=Exit.REFUSED,
            )
        if wanted > machines:
            raise CliError(
                f"{place} cannot have {wanted} replicas on {machines} "
                f"machine{'s' if machines != 1 else ''} with the brokers {numbers_text(plan.racks)}.",
                cause="a machine holds one replica of a partition at most, however many brokers run on it.",
                attempt="more machines, or a smaller --replication-factor",
                code=Exit.REFUSED,
            )
        kept[place] = plan.keep(replicas, wanted, in_sync.get(place, replicas))
    return {
        place: plan.fill(kept[place], factor or len(replicas), replicas)
        for place, replicas in current.items()
    }


class _Plan:
    def __init__(self, brokers: Iterable[Broker]) -> None:
        brokers = list(brokers)
        self.racks = {broker.id: broker.rack for broker in brokers}
        self.machines = {broker.id: broker.machine_key for broker in brokers}
        self._held = dict.fromkeys(self.racks, 0)
        self._preferred = dict.fromkeys(self.racks, 0)

    def keep(self, replicas: Sequence[int], wanted: int, in_sync: Sequence[int]) -> list[int]:
        staying = [id for id in replicas if id in self.racks]
        # Where some must go, those that hold all records stay rather than those that don't.
        best = sorted(staying, key=lambda id: id not in in_sync)[:wanted]
        kept = [id for id in staying if id in best]
        for id in kept:
            self._held[id] += 1
        if kept and kept[0] == replicas[0]:
            self._preferred[kept[0]] += 1
        return kept

    def fill(self, kept: list[int], wanted: int, before: Sequence[int]) -> tuple[int, ...]:
        chosen = list(kept)
        while len(chosen) < wanted:
            id = min((id for id in self.racks if id not in chosen), key=lambda id: self._rank(id, chosen))
            self._held[id] += 1
            chosen.append(id)
        if chosen[0] != before[0]:
            first = min(chosen, key=lambda id: self._preferred[id])
            chosen = [first, *(id for id in chosen if id != first)]
            self._preferred[first] += 1
        return tuple(chosen)

    def _rank(self, id: int, chosen: Sequence[int]) -> tuple[int, int, int, int]:
        rack = self.racks[id]
        same_machine = sum(self.machines[other] == self.machines[id] for other in chosen)
        same_rack = 0 if rack is None else sum(self.racks[other] == rack for other in chosen)
        return same_machine, same_rack, self._held[id], id
