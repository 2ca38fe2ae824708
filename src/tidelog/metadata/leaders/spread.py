"""A plan for the brokers of one machine: its replicas go from core to core, and none to another machine.

Leaders and followers are evened out apart from each other, since a leader is what costs a core. A replica
keeps its position in the list, so the cluster outside of the machine sees the same roles at the same place.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from tidelog.base.ids import NodeId
from tidelog.metadata.leaders.balance import Move
from tidelog.metadata.leaders.layout import PlacedPartition, Replicas


def plan_spread(
    cores: Sequence[NodeId], partitions: Iterable[PlacedPartition], leaving: Collection[NodeId] = ()
) -> list[Move]:
    """Returns moves that even out the cores, after which those that leave hold nothing."""
    staying = [core for core in sorted(cores) if core not in leaving]
    here = [placed for placed in partitions if not set(cores).isdisjoint(placed.replicas)]
    here.sort(key=lambda placed: (placed.topic, placed.partition))
    after = [placed.replicas for placed in here]
    for leads in (True, False):
        _Role(staying, cores, here, after, leads).spread()
    return [
        Move(placed.topic, placed.partition, placed.replicas, replicas)
        for placed, replicas in zip(here, after, strict=True)
        if replicas != placed.replicas
    ]


class _Role:
    """The replicas of the machine that lead, or those that follow."""

    def __init__(
        self,
        staying: Sequence[NodeId],
        cores: Collection[NodeId],
        here: Sequence[PlacedPartition],
        after: list[Replicas],
        leads: bool,
    ) -> None:
        self._topics = [placed.topic for placed in here]
        self._after = after
        self._cores = set(cores)
        self._held: dict[NodeId, dict[int, None]] = {core: {} for core in staying}
        self._of_topic: Counter[tuple[NodeId, str]] = Counter()
        self._homeless: list[tuple[int, NodeId]] = []
        for number, replicas in enumerate(after):
            for core in replicas[:1] if leads else replicas[1:]:
                if core in self._held:
                    self._take(number, core)
                elif core in self._cores:
                    self._homeless.append((number, core))

    def spread(self) -> None:
        for number, core in self._homeless:
            self._move(number, core, min(self._held, key=lambda other: self._fill(other, number)))
        while True:
            fullest = max(self._held, key=lambda core: (len(self._held[core]), -core))
            emptiest = min(self._held, key=lambda core: (len(self._held[core]), core))
            if len(self._held[fullest]) - len(self._held[emptiest]) < 2:
                return
            number = max(self._held[fullest], key=lambda number: self._excess(fullest, emptiest, number))
            self._move(number, fullest, emptiest)

    def _fill(self, core: NodeId, number: int) -> tuple[int, int, NodeId]:
        return len(self._held[core]), self._of_topic[core, self._topics[number]], core

    def _excess(self, fullest: NodeId, emptiest: NodeId, number: int) -> int:
        topic = self._topics[number]
        return self._of_topic[fullest, topic] - self._of_topic[emptiest, topic]

    def _take(self, number: int, core: NodeId) -> None:
        self._held[core][number] = None
        self._of_topic[core, self._topics[number]] += 1

    def _move(self, number: int, leaves: NodeId, comes: NodeId) -> None:
        if leaves in self._held:
            del self._held[leaves][number]
            self._of_topic[leaves, self._topics[number]] -= 1
        self._after[number] = tuple(comes if core == leaves else core for core in self._after[number])
        self._take(number, comes)
