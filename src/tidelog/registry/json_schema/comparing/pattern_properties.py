"""`patternProperties`: which schema a name gets by the expressions in an object's schema.

An expression comes from a client, so Python's `re` never sees it: RE2's syntax, in time linear in the name.
What RE2 does not know (lookaround, characters beyond ASCII) is found in no name.
"""

from tidelog.base.patterns.pattern import Pattern
from tidelog.base.patterns.syntax import BadPattern
from tidelog.registry.json_schema.comparing.findings import Findings
from tidelog.registry.json_schema.shapes import ObjectShape, Part


class PatternProperties:
    def __init__(self, shape: ObjectShape, found: Findings) -> None:
        self._parts = shape.pattern_properties
        self._found = found
        self._compiled: dict[str, Pattern | None] = {}

    def part_of(self, name: str) -> Part | None:
        """Returns the schema of the first expression that is found anywhere in the name."""
        return next((part for pattern, part in self._parts.items() if self._is_found(pattern, name)), None)

    def _is_found(self, pattern: str, name: str) -> bool:
        self._found.spend(1 + len(name) // 8)
        if pattern not in self._compiled:
            self._found.spend(len(pattern))
            self._compiled[pattern] = _compiled(pattern)
        expression = self._compiled[pattern]
        try:
            return expression is not None and bool(expression.select((name,)))
        except BadPattern:
            return False


def _compiled(pattern: str) -> Pattern | None:
    try:
        return Pattern(f"(?s:.*)(?:{pattern})(?s:.*)")
    except BadPattern:
        return None
