"""A straight line through measured points, by least squares."""

from collections.abc import Sequence
from typing import NamedTuple


class Line(NamedTuple):
    base: float
    slope: float

    def at(self, x: float) -> float:
        return self.base + self.slope * x


def line(points: Sequence[tuple[float, float]]) -> Line:
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    return Line(mean_y - slope * mean_x, slope)
