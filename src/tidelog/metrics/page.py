"""What one scrape collects: the samples of each family, as lines of text.

The number of series is bounded: a cluster with a million groups must neither fill the broker's memory nor
Prometheus'. What is left out is counted, and the page says so itself.
"""

import math
from collections.abc import Sequence

from tidelog.base.invariant import invariant
from tidelog.metrics.families.scrapes import SERIES_LEFT_OUT
from tidelog.metrics.family import Family, Kind
from tidelog.metrics.histogram import Histogram

SERIES_MAX = 200_000
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Page:
    def __init__(self, series_max: int = SERIES_MAX) -> None:
        self.lines: dict[Family, list[str]] = {}
        self.left_out = 0
        self._room = series_max
        self._escaped: dict[str, str] = {}

    def add(self, family: Family, value: float, *labels: object) -> None:
        """Adds one sample, with the values of the family's labels in their order."""
        if self._room <= 0:
            self.left_out += 1
            return
        self._room -= 1
        lines = self.lines.get(family)
        if lines is None:
            lines = self.lines[family] = []
        lines.append(f"{family.name}{self._braces(family, labels)} {number(value)}")

    def braces(self, family: Family, *labels: object) -> str:
        """Returns the labels as text, for `add_rows`: families with the same labels share it."""
        return self._braces(family, labels)

    def add_rows(self, family: Family, rows: Sequence[tuple[str, float]]) -> None:
        """Adds many samples at once, each with the text of its labels and a finite number."""
        if len(rows) > self._room:
            self.left_out += len(rows) - self._room
            rows = rows[: self._room]
        self._room -= len(rows)
        name = family.name
        self.lines.setdefault(family, []).extend([f"{name}{braces} {value}" for braces, value in rows])

    def add_histogram(self, family: Family, histogram: Histogram, *labels: object) -> None:
        invariant(family.kind is Kind.HISTOGRAM, "this family is no histogram")
        series = len(histogram.counts) + 2
        if self._room < series:
            self.left_out += series
            return
        self._room -= series
        lines = self.lines.setdefault(family, [])
        braces = self._braces(family, labels)
        before = braces[:-1] + "," if braces else "{"
        count = 0
        for bound, observed in zip((*histogram.bounds, float("inf")), histogram.counts, strict=True):
            count += observed
            lines.append(f'{family.name}_bucket{before}le="{number(float(bound))}"}} {count}')
        lines.append(f"{family.name}_count{braces} {count}")
        lines.append(f"{family.name}_sum{braces} {number(histogram.sum)}")

    def end(self) -> None:
        """All collectors are done: say what is missing."""
        self._room += 1
        self.add(SERIES_LEFT_OUT, self.left_out)

    def _braces(self, family: Family, labels: tuple[object, ...]) -> str:
        names = family.labels
        if not names and not labels:
            return ""
        pairs = [f'{name}="{self._text(value)}"' for name, value in zip(names, labels, strict=True)]
        return "{" + ",".join(pairs) + "}"

    def _text(self, value: object) -> str:
        text = str(value)
        escaped = self._escaped.get(text)
        if escaped is None:
            escaped = self._escaped[text] = text.translate(_ESCAPES)
        return escaped


def number(value: float) -> str:
    """A value as Prometheus reads it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value + 0)  # True is 1
