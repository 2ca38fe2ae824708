"""What one comparison gathers, and what it may spend.

A comparison is a generator: it yields each pair of schemas that it needs compared, and is sent the outcome.
So the loop in `comparison` runs them all without Python's stack, and compares no pair twice.
"""

from collections.abc import Generator
from typing import Final, TypeAlias

from tidelog.registry.json_schema.comparing.differences import (
    DIFFERENCES_MAX,
    STRICT,
    Difference,
    Outcome,
    outcome_of,
)
from tidelog.registry.json_schema.shapes import Shape

Pair: TypeAlias = tuple[Shape, Shape]
"""The original, which wrote, and the update, which reads."""

Comparing: TypeAlias = Generator[Pair, Outcome, None]

WORK_MAX: Final = 500_000
"""Properties, items and members that are looked at: about two seconds. Large schemas need thousands."""


class TooComplexError(Exception):
    """Two schemas whose comparison takes more than `WORK_MAX` steps."""


class Work:
    def __init__(self) -> None:
        self._left = WORK_MAX

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise TooComplexError


class Findings:
    def __init__(self, work: Work, tolerated: frozenset[str] = STRICT) -> None:
        self._work = work
        self._tolerated = tolerated
        self._differences: list[Difference] = []

    def spend(self, steps: int) -> None:
        self._work.spend(steps)

    def add(self, kind: str, path: str = "") -> None:
        self._differences.append(Difference(kind, path))

    def include(self, outcome: Outcome, path: str = "") -> None:
        """Adds what a comparison of inner schemas found, which lie at `path`."""
        for kind, inner in outcome.differences:
            self._differences.append(Difference(kind, f"{path}/{inner}" if path and inner else path or inner))
        if len(self._differences) > 4 * DIFFERENCES_MAX:
            self._differences = list(outcome_of(self._differences, self._tolerated).differences)

    def outcome(self) -> Outcome:
        return outcome_of(self._differences, self._tolerated)
