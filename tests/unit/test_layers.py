"""Imports point down: the rule of docs/architecture.md, checked on every import statement in src."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "tidelog"

# Lowest first. Rooms in one set stand side by side and don't import each other.
LAYERS: list[set[str]] = [
    {"base"},
    {"wire"},
    {"storage", "raft", "coordination"},
    {"metadata"},
    {"replication", "groups", "transactions"},
    {"broker"},
    {"server"},
    {"node"},
    {"blocking"},
    {"clients", "spark", "testing"},
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
FREE_OF_THE_WORLD = set().union(*LAYERS[:5])
THE_WORLD = {"asyncio", "socket", "threading", "time", "random", "select", "selectors", "concurrent"}


def room_of(path: Path) -> str:
    first = path.relative_to(SRC).parts[0]
    return first.removesuffix(".py")


def imported_modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def faults(room: str, modules: Iterator[str]) -> list[str]:
    found = []
    for module in modules:
        top, _, rest = module.partition(".")
        if top in THE_WORLD and room in FREE_OF_THE_WORLD:
            found.append(f"{room} may not import {top}: take it as a port")
        if top != "tidelog" or not rest:
            continue
        other = rest.partition(".")[0]
        if other == room or other not in LEVEL:
            continue
        if LEVEL[other] >= LEVEL[room]:
            found.append(f"{room} may not import {other}: imports point down")
    return found


SOURCES = sorted(
    path
    for path in SRC.rglob("*.py")
    if room_of(path) not in {"__init__", "__main__"} and "messages" not in path.parts
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(SRC)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    assert room in LEVEL, f"{room} is a new room: give it a layer here and in docs/architecture.md"
    assert faults(room, imported_modules(ast.parse(path.read_text()))) == []


@pytest.mark.parametrize(
    ("room", "statement"),
    [
        ("wire", "from tidelog.storage.log import PartitionLog"),
        ("storage", "import time"),
        ("replication", "from tidelog.groups import x"),
        ("metadata", "import asyncio.events"),
    ],
)
def test_the_rule_can_be_broken(room: str, statement: str) -> None:
    assert faults(room, imported_modules(ast.parse(statement)))
