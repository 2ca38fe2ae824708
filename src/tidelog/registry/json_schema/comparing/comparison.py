"""Compares two schemas, each pair of inner schemas once, in a loop of its own and within `WORK_MAX` steps.

A schema may refer to itself. A pair that is met again while it is being compared is taken for compatible;
where that proves wrong, and all else is compatible, everything is compared again with what is known by then.
"""

from typing import NamedTuple

from tidelog.registry.json_schema.comparing.arrays import compare_arrays
from tidelog.registry.json_schema.comparing.combinations import (
    compare_combinations,
    compare_negations,
    compare_with_combination,
)
from tidelog.registry.json_schema.comparing.differences import SAME, STRICT, Outcome, one_reason
from tidelog.registry.json_schema.comparing.findings import Comparing, Findings, Pair, Work
from tidelog.registry.json_schema.comparing.following import Following
from tidelog.registry.json_schema.comparing.objects import compare_objects
from tidelog.registry.json_schema.comparing.values import (
    compare_constants,
    compare_enums,
    compare_numbers,
    compare_strings,
)
from tidelog.registry.json_schema.shapes import (
    Anything,
    ArrayShape,
    Combined,
    ConstShape,
    EnumShape,
    Nothing,
    NotShape,
    NumberShape,
    ObjectShape,
    Shape,
    StringShape,
)


def compare(original: Shape, update: Shape, tolerated: frozenset[str] = STRICT) -> Outcome:
    """Returns how `update`, which reads, differs from `original`, which wrote. Raises TooComplexError."""
    work, following = Work(), Following()
    incompatible: dict[Pair, Outcome] = {}
    while True:
        run = _Run(work, following, incompatible, tolerated)
        outcome = run.compare((original, update))
        wrong = run.wrongly_assumed()
        if not outcome.is_compatible or not wrong:
            return outcome
        incompatible |= wrong


class _Frame(NamedTuple):
    pair: Pair
    comparing: Comparing
    found: Findings


class _Run:
    def __init__(
        self,
        work: Work,
        following: Following,
        incompatible: dict[Pair, Outcome],
        tolerated: frozenset[str],
    ) -> None:
        self._work = work
        self._following = following
        self._tolerated = tolerated
        self._incompatible = incompatible
        self._known: dict[Pair, Outcome] = {}
        self._under_way: set[Pair] = set()
        self._assumed: set[Pair] = set()

    def wrongly_assumed(self) -> dict[Pair, Outcome]:
        """The pairs that were taken for compatible and are not, each with one reason."""
        return {
            pair: one_reason(self._known[pair])
            for pair in self._assumed
            if not self._known[pair].is_compatible
        }

    def compare(self, root: Pair) -> Outcome:
        frames = [self._begin(root)]
        answer: Outcome | None = None
        while True:
            frame = frames[-1]
            try:
                asked = frame.comparing.send(answer) if answer is not None else next(frame.comparing)
            except StopIteration:
                frames.pop()
                answer = self._known[frame.pair] = frame.found.outcome()
                self._under_way.discard(frame.pair)
                if not frames:
                    return answer
                continue
            pair = self._followed(asked)
            answer = self._answer(pair)
            if answer is None:
                frames.append(self._begin(pair))

    def _begin(self, pair: Pair) -> _Frame:
        pair = self._followed(pair)
        self._under_way.add(pair)
        found = Findings(self._work, self._following, self._tolerated)
        found.spend(1)
        return _Frame(pair, _compare_shapes(*pair, found), found)

    def _followed(self, pair: Pair) -> Pair:
        return self._following.end(pair[0]), self._following.end(pair[1])

    def _answer(self, pair: Pair) -> Outcome | None:
        if pair in self._known:
            return self._known[pair]
        if pair not in self._under_way:
            return None
        if pair in self._incompatible:
            return self._incompatible[pair]
        self._assumed.add(pair)
        return SAME


def _compare_shapes(original: Shape, update: Shape, found: Findings) -> Comparing:
    if isinstance(original, Combined) != isinstance(update, Combined) and (
        yield from compare_with_combination(original, update, found)
    ):
        return
    if type(original) is not type(update):
        takes_all = isinstance(original, Nothing) or isinstance(update, Anything)
        if not takes_all and not (original.is_connect_bytes and update.is_connect_bytes):
            found.add("TYPE_CHANGED")
        return
    for name, before, after in zip(original.notes._fields, original.notes, update.notes, strict=True):
        if before != after:
            found.add(f"{name.upper()}_CHANGED")
    match original, update:
        case ObjectShape(), ObjectShape():
            yield from compare_objects(original, update, found)
        case ArrayShape(), ArrayShape():
            yield from compare_arrays(original, update, found)
        case Combined(), Combined():
            yield from compare_combinations(original, update, found)
        case NotShape(), NotShape():
            yield from compare_negations(original, update, found)
        case StringShape(), StringShape():
            compare_strings(original, update, found)
        case NumberShape(), NumberShape():
            compare_numbers(original, update, found)
        case EnumShape(), EnumShape():
            compare_enums(original, update, found)
        case ConstShape(), ConstShape():
            compare_constants(original, update, found)
