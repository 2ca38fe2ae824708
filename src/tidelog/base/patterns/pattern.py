"""A regular expression over names. Runs all ways through the program at once, so it never walks back.

Each set of places that the program can be in, with the next character, is worked out once and remembered.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from tidelog.base.patterns import ascii_sets
from tidelog.base.patterns.program import compile_program
from tidelog.base.patterns.syntax import BadPattern, Edge, parse

PATTERN_CHARS_MAX = 4096
REMEMBERED_MAX = 20_000
WORK_MAX = 500_000
"""Steps for all names together, remembered ones apart: a tenth of a second. Honest ones take hundreds."""

_END = ""


class _Places(NamedTuple):
    """Where the program can be, and what stood before: asked for by \\b and ^."""

    steps: frozenset[int]
    after_word: bool
    at_begin: bool


class Pattern:
    def __init__(self, text: str) -> None:
        if len(text) > PATTERN_CHARS_MAX:
            raise BadPattern(f"longer than {PATTERN_CHARS_MAX} characters")
        self._steps, begin = compile_program(parse(text))
        self._begin = _Places(frozenset((begin,)), after_word=False, at_begin=True)
        self._remembered: dict[tuple[_Places, str], _Places | None] = {}
        self._work = 0

    def select(self, names: Iterable[str]) -> frozenset[str]:
        """The names that match from begin to end."""
        self._work = 0
        return frozenset(filter(self.matches, names))

    def matches(self, name: str) -> bool:
        places = self._begin
        for character in (*name, _END):
            known = (places, character)
            after = self._remembered[known] if known in self._remembered else self._advance(*known)
            if after is None:
                return False
            places = after
        return True

    def _advance(self, places: _Places, character: str) -> _Places | None:
        """Where the next character leads; None where that is nowhere. At the end: whether that is a match."""
        bit = ascii_sets.of(character)
        is_word = bool(bit & ascii_sets.WORD)
        reached: set[int] = set()
        seen: set[int] = set()
        waiting = list(places.steps)
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            step = self._steps[at]
            if step.mask is not None:
                if step.mask & bit:
                    reached.update(step.next)
            elif step.edge is None or _is_at(step.edge, places, character, is_word):
                waiting.extend(step.next)
        self._work += len(seen)
        if self._work > WORK_MAX:
            raise BadPattern("the expression takes too long to match")
        result = None
        if reached or (character == _END and 0 in seen):
            result = _Places(frozenset(reached), after_word=is_word, at_begin=False)
        if len(self._remembered) >= REMEMBERED_MAX:
            self._remembered.clear()
        self._remembered[places, character] = result
        return result


def _is_at(edge: Edge, places: _Places, character: str, is_word: bool) -> bool:
    match edge:
        case Edge.BEGIN:
            return places.at_begin
        case Edge.END:
            return character == _END
        case Edge.WORD:
            return places.after_word != is_word
        case Edge.NOT_WORD:
            return places.after_word == is_word


@lru_cache(maxsize=256)
def compiled(text: str) -> Pattern:
    """Raises BadPattern, with the reason."""
    return Pattern(text)
