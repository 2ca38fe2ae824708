"""`make mutants`: break the rules of the pure rooms one by one, and list those that no test misses.

Each mutant changes one comparison, condition or refusal of one module, in a copy of the source. The room's
unit and property tests run against it, then some seeds of the simulator. A mutant that all of them pass is a
rule that nothing guards: it needs a test, or it is not needed.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("raft", "replication", "transactions", "groups", "shares", "registry")
KINDS = {"shares": "--queues", "registry": "--registry"}
"""The simulator runs these rooms only with clients of their own."""
PROPERTIES = {
    "raft": ("raft",),
    "replication": ("replica", "partition"),
    "transactions": ("transaction",),
    "groups": ("group", "offset"),
    "shares": ("share", "due_index"),
    "registry": ("registry",),
}
"""Parts of the names of the property tests that look at a room."""
TESTS_SECONDS = 600
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


class Mutant(NamedTuple):
    path: Path
    """Below `src`."""
    number: int
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"src/{self.path}:{self.line}: {self.before}  ->  {self.after}"


def changes_of(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of a node, and makes another rule of it."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        other = COMPARISONS[type(node.ops[0])]()
        yield ast.Compare(node.left, [other, *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BoolOp):
        for left_out in range(len(node.values)):
            rest = [one for number, one in enumerate(node.values) if number != left_out]
            yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Raise):
        yield ast.Pass()
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        other_name = ast.Name("max" if node.func.id == "min" else "min", ast.Load())
        yield ast.Call(other_name, node.args, node.keywords)


class _Change(ast.NodeTransformer):
    """Counts all changes, and makes the one with the wanted number."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._count = 0
        self.made: tuple[ast.AST, ast.AST] | None = None

    def visit(self, node: ast.AST) -> ast.AST:
        for changed in changes_of(node):
            if self._count == self._wanted:
                self.made = node, changed
            self._count += 1
        if self.made is not None and self.made[0] is node:
            return ast.copy_location(self.made[1], node)
        return self.generic_visit(node)


def mutated(source: str, number: int) -> tuple[str, int, str, str] | None:
    """The source with its change of this number, its line, and what was there before and after."""
    change = _Change(number)
    tree = change.visit(ast.parse(source))
    if change.made is None:
        return None
    before, after = change.made
    text = ast.unparse(ast.fix_missing_locations(tree))
    return text, getattr(before, "lineno", 0), _short(before), _short(after)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 90 else f"{text[:87]}..."


def mutants_of(path: Path) -> Iterator[Mutant]:
    source = (ROOT / "src" / path).read_text()
    number = 0
    while (found := mutated(source, number)) is not None:
        yield Mutant(path, number, *found[1:])
        number += 1


def chosen(options: argparse.Namespace) -> list[Mutant]:
    paths = [
        path.relative_to(ROOT / "src")
        for room in options.rooms
        for path in sorted((ROOT / "src" / "tidelog" / room).rglob("*.py"))
        if "record_formats" not in path.parts and (not options.file or path.name == options.file)
    ]
    found = [mutant for path in paths for mutant in mutants_of(path)]
    if options.sample and options.sample < len(found):
        found = sorted(random.Random(options.seed).sample(found, options.sample))
    return found


class Laboratory:
    """A copy of the source in which one mutant at a time lives."""

    def __init__(self, folder: Path, sim_seeds: str) -> None:
        self._source = folder / "src"
        self._sim_seeds = sim_seeds
        shutil.copytree(ROOT / "src", self._source, ignore=shutil.ignore_patterns("__pycache__"))

    def is_sound(self, room: str) -> bool:
        """Whether the tests pass where nothing is broken: else they would seem to notice everything."""
        return self._passes_tests(room)

    def killer_of(self, mutant: Mutant) -> str | None:
        """What noticed it; None: it survives."""
        place = self._source / mutant.path
        original = place.read_text()
        changed = mutated(original, mutant.number)
        if changed is None:
            raise LookupError(f"{mutant} is not there any more")
        place.write_text(changed[0])
        try:
            room = mutant.path.parts[1]
            if not self._passes_tests(room):
                return "tests"
            seeds = ["--seeds", self._sim_seeds] if self._sim_seeds else []
            kind = [KINDS[room]] if room in KINDS else []
            if seeds and not self._passes("-m", "tidelog.testing.sim", "--stop-after", "1", *kind, *seeds):
                return "simulator"
            return None
        finally:
            place.write_text(original)

    def _passes_tests(self, room: str) -> bool:
        return self._passes("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests_of(room))

    def _passes(self, *arguments: str) -> bool:
        environment = os.environ | {"PYTHONPATH": str(self._source), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                [sys.executable, *arguments],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                timeout=TESTS_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False  # it runs for ever: noticed
        return done.returncode == 0


def tests_of(room: str) -> list[str]:
    properties = [
        str(path)
        for path in sorted((ROOT / "tests" / "property").glob("test_*.py"))
        if any(part in path.name for part in PROPERTIES[room])
    ]
    return [str(ROOT / "tests" / "unit" / room), *properties]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rooms", nargs="+", default=ROOMS, choices=ROOMS)
    parser.add_argument("--file", help="only modules of this name, such as leading.py")
    parser.add_argument("--sample", type=int, default=0, help="so many of them, drawn by chance; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of that chance")
    parser.add_argument(
        "--sim", default="0-9", help="seeds of the simulator for those that tests pass; '': none"
    )
    parser.add_argument("--list", action="store_true", help="show the mutants, and run nothing")
    options = parser.parse_args()
    mutants = chosen(options)
    if options.list:
        print(*mutants, f"{len(mutants)} mutants", sep="\n")
        return 0
    survivors: list[Mutant] = []
    with tempfile.TemporaryDirectory(prefix="tidelog-mutants-") as folder:
        laboratory = Laboratory(Path(folder), options.sim)
        for room in options.rooms:
            if not laboratory.is_sound(room):
                print(f"the tests of {room} fail without any mutant: run {' '.join(tests_of(room))}")
                return 1
        for number, mutant in enumerate(mutants, 1):
            killer = laboratory.killer_of(mutant)
            if killer is None:
                survivors.append(mutant)
            print(f"{number}/{len(mutants)} {killer or 'SURVIVES'}: {mutant}", flush=True)
    print(f"\n{len(survivors)} of {len(mutants)} survive{':' if survivors else ''}")
    print(*survivors, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
