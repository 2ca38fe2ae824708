"""Compiles the tree of an expression to a small program: which characters lead where.

The program is a nondeterministic automaton; `pattern` runs it.
"""

from typing import NamedTuple

from tidelog.base.patterns.syntax import (
    Assertion,
    BadPattern,
    Chars,
    Choice,
    Edge,
    Node,
    Repeat,
    Sequence,
)

INSTRUCTIONS_MAX = 2000


class Step(NamedTuple):
    """Reads one character of `mask`, or none if there is no mask, and goes on at each of `next`."""

    mask: int | None
    edge: Edge | None
    next: tuple[int, ...]


MATCH = Step(None, None, ())


def compile_program(node: Node) -> tuple[list[Step], int]:
    """The steps, and where to begin. Step 0 is the match."""
    program = _Program()
    return program.steps, program.add(node, 0)


class _Program:
    def __init__(self) -> None:
        self.steps = [MATCH]

    def add(self, node: Node, after: int) -> int:
        """Where to begin in order to match `node` and go on at `after`. Built from the end to the front."""
        match node:
            case Chars(mask):
                return self._emit(Step(mask, None, (after,)))
            case Assertion(edge):
                return self._emit(Step(None, edge, (after,)))
            case Sequence(parts):
                for part in reversed(parts):
                    after = self.add(part, after)
                return after
            case Choice(parts):
                return self._emit(Step(None, None, tuple(self.add(part, after) for part in parts)))
            case Repeat(part, least, most):
                return self._repeat(part, least, most, after)

    def _repeat(self, part: Node, least: int, most: int | None, after: int) -> int:
        if most is None:
            loop = self._emit(Step(None, None, (after,)))
            again = self.add(part, loop)
            self.steps[loop] = Step(None, None, (again, after))
            begin = loop
        else:
            begin = after
            for _ in range(most - least):
                begin = self._emit(Step(None, None, (self.add(part, begin), after)))
        for _ in range(least):
            begin = self.add(part, begin)
        return begin

    def _emit(self, step: Step) -> int:
        if len(self.steps) >= INSTRUCTIONS_MAX:
            raise BadPattern("the expression is too large")
        self.steps.append(step)
        return len(self.steps) - 1
