"""What a workload measures, and what becomes of several rounds of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True)
class Figure:
    """`goal` is for the ratio to Apache Kafka: at least that where more is better, else at most."""

    name: str
    unit: str
    more_is_better: bool
    goal: float | None = None
    goal_of_bare: float | None = None
    """Likewise, for the ratio to the bare limit of the machine."""


@dataclass
class Rounds:
    """The values of one figure: by system, one for each round."""

    figure: Figure
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, system: str, value: float) -> None:
        self.values.setdefault(system, []).append(value)

    def medians(self) -> Mapping[str, float]:
        return {system: median(values) for system, values in self.values.items()}

    def spread(self, system: str) -> tuple[float, float]:
        return min(self.values[system]), max(self.values[system])

    def ratio(self, ours: str, theirs: str) -> float | None:
        """Of the medians of rounds: rounds alternate, so that both saw the same machine."""
        mine, other = self.values.get(ours), self.values.get(theirs)
        if not mine or not other or not median(other):
            return None
        return median(mine) / median(other)

    def is_met(self, ratio: float | None, goal: float | None) -> bool | None:
        """None where there is nothing to judge."""
        if ratio is None or goal is None:
            return None
        return ratio >= goal if self.figure.more_is_better else ratio <= goal
