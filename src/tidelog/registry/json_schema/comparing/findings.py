"""What one comparison gathers, and what it may spend.

A comparison is a generator: it yields each pair of schemas that it needs compared, and is sent the outcome.
So the loop in `comparison` runs them all without Python's stack, and compares no pair twice.
"""

from collections.abc import Generator
from typing import Final, TypeAlias

from tidelog.registry.json_schema.comparing.differences import (
    DIFFERENCES_MAX,
    INCOMPATIBLE,
    STRICT,
    Entry,
    Outcome,
    Steps,
)
from tidelog.registry.json_schema.comparing.following import Following
from tidelog.registry.json_schema.shapes import Part, Shape

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
    """Keeps the first `DIFFERENCES_MAX` that are compatible, and as many that are not."""

    def __init__(self, work: Work, following: Following, tolerated: frozenset[str] = STRICT) -> None:
        self._work = work
        self._following = following
        self._tolerated = tolerated
        self._entries: list[Entry] = []
        self._counts = {False: 0, True: 0}
        """Of entries, by whether they are incompatible."""

    def spend(self, steps: int) -> None:
        self._work.spend(steps)

    def add(self, kind: str, *steps: str | int) -> None:
        self._keep(kind, steps, kind in INCOMPATIBLE and kind not in self._tolerated)

    def include(self, outcome: Outcome, *steps: str | int) -> None:
        """Adds what a comparison of inner schemas found, which lie at the steps."""
        if outcome.entries:
            self._keep(outcome, steps, not outcome.is_compatible)

    def outcome(self) -> Outcome:
        return Outcome(not self._counts[True], tuple(self._entries))

    def has_default(self, part: Part) -> bool:
        return self._following.has_default(part())

    def _keep(self, found: str | Outcome, steps: Steps, is_incompatible: bool) -> None:
        if self._counts[is_incompatible] < DIFFERENCES_MAX:
            self._counts[is_incompatible] += 1
            self._entries.append(Entry(found, steps, is_incompatible))
