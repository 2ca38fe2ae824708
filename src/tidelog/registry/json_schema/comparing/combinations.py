"""allOf, anyOf and oneOf: each member of the original needs a compatible member of the update, of its own.

That is a matching of two sets. Equal members are tried with each other first, and other pairs are compared
only where a member is still without a partner: unions of hundreds of members are common, and mostly
unchanged.
"""

from collections import deque
from collections.abc import Generator
from typing import TypeAlias

from tidelog.registry.json_schema.comparing.differences import Outcome
from tidelog.registry.json_schema.comparing.findings import Comparing, Findings, Pair
from tidelog.registry.json_schema.shapes import Combined, Criterion, NotShape, Shape

_Asking: TypeAlias = Generator[Pair, Outcome, bool]


def compare_combinations(original: Combined, update: Combined, found: Findings) -> Comparing:
    if original.criterion != update.criterion:
        if not _may_become(original, update):
            found.add("COMBINED_TYPE_CHANGED")
            return
        found.add("COMBINED_TYPE_EXTENDED")
    if len(original.members) != len(update.members):
        grown = len(original.members) < len(update.members)
        larger = update if grown else original
        kind = "PRODUCT_TYPE" if larger.criterion is Criterion.ALL else "SUM_TYPE"
        found.add(f"{kind}_EXTENDED" if grown else f"{kind}_NARROWED")
    matching = _Matching(original, update, found)
    yield from matching.run()
    for index, outcome in matching.outcomes():
        found.include(outcome, original.criterion, index)
    if matching.size() < min(len(original.members), len(update.members)):
        found.add("COMBINED_TYPE_SUBSCHEMAS_CHANGED")


def compare_with_combination(original: Shape, update: Shape, found: Findings) -> _Asking:
    """Compares where one side is a combination and the other is not; returns whether that decided."""
    combined, is_update = (update, True) if isinstance(update, Combined) else (original, False)
    if not isinstance(combined, Combined):
        return False
    kind = "SUM_TYPE_EXTENDED" if is_update else "PRODUCT_TYPE_NARROWED"
    if len(combined.members) > 1 and (combined.criterion is Criterion.ALL) == is_update:
        return False
    found.spend(len(combined.members))
    for member in combined.members:
        outcome = yield (original, member.part()) if is_update else (member.part(), update)
        if outcome.is_compatible:
            found.include(outcome)
            if len(combined.members) > 1:
                found.add(kind)
            return True
    return False


def compare_negations(original: NotShape, update: NotShape, found: Findings) -> Comparing:
    """What must not match is compared the other way around."""
    outcome = yield update.part(), original.part()
    found.add("NOT_TYPE_NARROWED" if outcome.is_compatible else "NOT_TYPE_EXTENDED", "not")


def _may_become(original: Combined, update: Combined) -> bool:
    """Whether another criterion takes at least as much: anyOf does, and a single member is no choice."""
    if len(original.members) == 1 and len(update.members) == 1:
        return True
    return (
        update.criterion is Criterion.ANY
        or (update.criterion is Criterion.ONE and len(original.members) == 1)
        or (original.criterion is Criterion.ALL and len(update.members) == 1)
    )


class _Matching:
    """Partners of members by their indexes, found by augmenting paths."""

    def __init__(self, original: Combined, update: Combined, found: Findings) -> None:
        self._originals = original.members
        self._updates = update.members
        self._found = found
        self._outcomes: dict[tuple[int, int], Outcome] = {}
        self._original_of: dict[int, int] = {}

    def size(self) -> int:
        return len(self._original_of)

    def outcomes(self) -> list[tuple[int, Outcome]]:
        """Of each matched original, with its index."""
        pairs = sorted((original, update) for update, original in self._original_of.items())
        return [(original, self._outcomes[original, update]) for original, update in pairs]

    def run(self) -> Comparing:
        self._found.spend(len(self._originals) + len(self._updates))
        alone = deque[int]()
        equal = {member.digest: index for index, member in enumerate(self._updates)}
        for index, member in enumerate(self._originals):
            partner = equal.get(member.digest)
            if partner is None or partner in self._original_of or not (yield from self._fits(index, partner)):
                alone.append(index)
            else:
                self._original_of[partner] = index
        while alone and len(self._original_of) < len(self._updates):
            yield from self._augment(alone.popleft())

    def _augment(self, begin: int) -> Comparing:
        """Finds a partner for one more original, where others may have to change theirs for it."""
        reached_from: dict[int, int] = {}
        waiting = deque([begin])
        while waiting:
            original = waiting.popleft()
            self._found.spend(len(self._updates))
            for update in range(len(self._updates)):
                if update in reached_from or not (yield from self._fits(original, update)):
                    continue
                reached_from[update] = original
                if update not in self._original_of:
                    self._give(update, reached_from, begin)
                    return
                waiting.append(self._original_of[update])

    def _give(self, update: int, reached_from: dict[int, int], begin: int) -> None:
        partners = {original: update for update, original in self._original_of.items()}
        while True:
            original = reached_from[update]
            self._original_of[update] = original
            if original == begin:
                return
            update = partners[original]

    def _fits(self, original: int, update: int) -> _Asking:
        known = self._outcomes.get((original, update))
        if known is None:
            known = yield self._originals[original].part(), self._updates[update].part()
            self._outcomes[original, update] = known
        return known.is_compatible
