"""Rooms and sub-rooms, and which may import which: the rules of docs/architecture.md, for every import.

Imports point down. `LAYERS` orders the rooms, `SUB_ROOMS` those inside a room, both lowest first. Rooms on
one level stand side by side and do not import each other. Files that lie directly in a room are its door and
what its sub-rooms share: they may import their sub-rooms, and these may import them. `UPWARD` lists what
breaks the order, with its reason.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "tidelog"
PAGE = (ROOT / "docs" / "architecture.md").read_text()

LAYERS: list[list[str]] = [
    ["base"],
    ["metrics"],
    ["monitoring", "wire"],
    ["storage", "raft", "coordination", "security"],
    ["metadata"],
    ["replication", "groups", "transactions", "shares", "registry"],
    ["broker"],
    ["server"],
    ["node"],
    ["blocking"],
    ["clients", "spark", "testing"],
    ["cli"],
]

SUB_ROOMS: dict[str, list[list[str]]] = {
    "base": [["config"], ["settings"], ["patterns"]],
    "metrics": [["families"], ["clients"]],
    "monitoring": [["alerts", "dashboards"]],
    "wire": [["messages"]],
    "storage": [
        ["segment"],
        ["producers", "compaction", "log_dir"],
        ["recovery", "encryption", "journal"],
    ],
    "security": [["acls", "sasl", "quotas", "tls", "audit"]],
    "metadata": [
        ["image"],
        ["topics"],
        ["store/entries"],
        ["store"],
        ["leaders"],
        ["configs"],
        ["brokers"],
        ["security"],
    ],
    "groups": [
        ["record_formats"],
        ["offsets"],
        ["classic"],
        ["consumer/assignors"],
        ["consumer"],
        ["share", "streams"],
    ],
    "shares": [["state", "schedule", "dead_letters"], ["partition"]],
    "registry": [["json_schema/comparing"], ["avro", "json_schema", "protobuf"], ["state"], ["validation"]],
    "broker": [
        ["peers"],
        ["log_dirs"],
        ["controller"],
        ["security"],
        ["security/audit"],
        ["replication"],
        ["coordinators/runtime"],
        ["coordinators"],
        ["shares"],
        ["shares/dead_letters", "shares/schedule"],
        ["native"],
        ["requests"],
        ["registry"],
        ["registry/api", "registry/validation"],
        ["metrics"],
        ["handlers"],
        ["handlers/topics"],
        [
            "handlers/acls",
            "handlers/authentication",
            "handlers/between_brokers",
            "handlers/cluster",
            "handlers/configs",
            "handlers/groups",
            "handlers/quotas",
            "handlers/records",
            "handlers/shares",
            "handlers/telemetry",
            "handlers/transactions",
        ],
    ],
    "server": [
        ["connection"],
        ["tls"],
        ["peer_connections"],
        ["http"],
        ["metrics", "registry"],
        ["encryption"],
    ],
    "blocking": [["registry"]],
    "clients": [["schemas"], ["consumer"], ["producer", "admin"], ["queue"]],
    "spark": [
        ["engine", "records", "values"],
        ["values/registered"],
        ["source", "sink"],
        ["lake"],
        ["lookups"],
        ["pipeline/checks"],
        ["pipeline"],
    ],
    "testing": [
        ["checks"],
        ["checks/shares", "checks/registry"],
        ["sim/runtime"],
        ["sim/network"],
        ["sim/clients"],
        ["sim/clients/shares", "sim/clients/registry"],
        ["sim/cluster"],
        ["sim/faults", "sim/rules"],
        ["sim"],
    ],
    "cli": [
        ["context"],
        ["direct"],
        ["config", "monitoring"],
        ["schema/outlines", "schema/moving"],
        ["schema"],
        ["spark"],
        ["topic"],
        ["cluster", "records"],
        ["log/dump"],
        ["client_metrics", "group", "log", "plan", "quota", "reassign"],
        ["queue/dead_letters", "queue"],
        ["acl"],
        ["role"],
        ["security"],
        ["security/checks"],
        ["up"],
        ["transactions", "fleet"],
        ["cores", "service"],
        ["doctor/checks"],
        ["doctor"],
    ],
}

UPWARD = {
    (
        "broker/log_dirs",
        "broker/controller",
    ): "partitions and reports read the image of MetadataService",
    ("broker/controller", "broker/requests"): "stages of the metadata change the parts that Services holds",
    ("broker/coordinators", "broker/requests"): "internal topics are created by a forwarded request",
    (
        "broker/shares/dead_letters",
        "broker/requests",
    ): "a dead-letter topic is created by a forwarded request",
    (
        "broker/replication",
        "broker/requests",
    ): "followers have fetch sessions like consumers",
    ("broker/requests", "broker/registry"): "Services names the registry, whose calls use Services",
    ("broker/requests", "broker/handlers"): "the table of routes names every handler",
    ("broker/requests", "broker/handlers/cluster"): "ApiVersions is answered before its version is known",
    ("broker/requests", "broker/handlers/records"): "the produce shortcut is Produce by another way",
    (
        "metadata/leaders",
        "metadata/brokers",
    ): "an in-sync set holds registered brokers only",
    ("metadata/topics", "metadata/configs"): "CreateTopics takes settings, and refuses bad ones",
    ("groups/consumer", "groups/share"): "a request may meet a group of the other kind, and is refused",
    ("groups/consumer", "groups/streams"): "a request may meet a group of the other kind, and is refused",
    ("cli/up", "cli/cores"): "`tidelog broker --cores` supervises processes of the same command",
    ("spark/lake", "spark/pipeline"): "`tidelog lake sync` is a pipeline of one source and one table",
}

COMMANDS = "commands.py"
"""In `cli`, the list of a command's sub-commands: it may name parts of any sub-room."""

FREE_OF_THE_WORLD = {room for layer in LAYERS[:5] for room in layer}
THE_WORLD = {"asyncio", "socket", "threading", "time", "random", "select", "selectors", "concurrent"}
MODULES_MAX = 25
PREFIX_FILES_MAX = 3
SUBJECT = {"storage": "log", "broker/log_dirs": "log", "broker/handlers/shares": "share"}
"""A room's own subject, which many of its files name first."""

LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
SUB_LEVEL = {
    f"{room}/{sub}": level
    for room, levels in SUB_ROOMS.items()
    for level, subs in enumerate(levels)
    for sub in subs
}
PACKAGES = sorted(
    str(path.parent.relative_to(SRC)) for path in SRC.rglob("__init__.py") if path.parent != SRC
)
SOURCES = sorted(
    path
    for path in SRC.rglob("*/*.py")
    if path.parent.name != "messages"  # generated
)


def room_of(path: Path) -> str:
    """`broker/requests` for a file in it; `node` for a room of one file."""
    inside = path.relative_to(SRC)
    return str(inside.parent) if len(inside.parts) > 1 else inside.stem


@cache
def room_of_module(module: str) -> str:
    """The deepest package of `tidelog.broker.requests.dispatch.Dispatcher`."""
    parts = module.split(".")[1:]
    depth = len(parts)
    while depth > 1 and "/".join(parts[:depth]) not in PACKAGES:
        depth -= 1
    return "/".join(parts[:depth])


def imported_modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_rooms(modules: Iterator[str]) -> set[str]:
    rooms = (room_of_module(module) for module in modules if module.startswith("tidelog."))
    return {room for room in rooms if room.partition("/")[0] in LEVEL}


def is_downward(room: str, other: str) -> bool:
    top, other_top = room.partition("/")[0], other.partition("/")[0]
    if top != other_top:
        return LEVEL[other_top] < LEVEL[top]
    if room == other or room.startswith(f"{other}/") or other.startswith(f"{room}/"):
        return True
    return SUB_LEVEL[other] < SUB_LEVEL[room]


def faults(room: str, statement: ast.AST) -> list[str]:
    modules = list(imported_modules(statement))
    world = {module.partition(".")[0] for module in modules} & THE_WORLD
    return [
        *(f"{room} may not import {name}: take it as a port" for name in world if is_pure(room)),
        *(
            f"{room} may not import {other}: imports point down"
            for other in sorted(imported_rooms(iter(modules)))
            if not is_downward(room, other) and (room, other) not in UPWARD
        ),
    ]


def is_pure(room: str) -> bool:
    return room.partition("/")[0] in FREE_OF_THE_WORLD


def is_free(path: Path) -> bool:
    return path.name == COMMANDS and room_of(path).startswith("cli/")


def test_every_room_has_its_place() -> None:
    tops = {package for package in PACKAGES if "/" not in package} | {"node"}
    assert sorted(tops) == sorted(LEVEL), "a room without a layer here, or a layer without its room"
    assert sorted(set(PACKAGES) - tops) == sorted(SUB_LEVEL), "the same for a sub-room"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(SRC)))
def test_imports_point_down(path: Path) -> None:
    statement = ast.parse(path.read_text())
    rooms = (
        faults(room_of(path).partition("/")[0], statement)
        if is_free(path)
        else faults(room_of(path), statement)
    )
    assert rooms == []


def test_no_exception_is_idle() -> None:
    edges = {
        (room_of(path), other)
        for path in SOURCES
        if not is_free(path)
        for other in imported_rooms(imported_modules(ast.parse(path.read_text())))
    }
    assert sorted(UPWARD.keys() - edges) == []


def test_no_module_imports_itself_through_others() -> None:
    names = {module_name(path): path for path in SOURCES}
    graph = {name: set(loaded(path)) & names.keys() - {name} for name, path in names.items()}
    while leaves := [name for name, imports in graph.items() if not imports]:
        for name in leaves:
            del graph[name]
        for imports in graph.values():
            imports.difference_update(leaves)
    assert sorted(graph) == [], "these modules, or some of them, form circles"


def module_name(path: Path) -> str:
    inside = path.relative_to(SRC.parent).with_suffix("")
    return ".".join(inside.parts).removesuffix(".__init__")


def loaded(path: Path) -> Iterator[str]:
    """What an import of the module loads: the statements of its top level, without those for types alone."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            if any(not is_module(f"{node.module}.{alias.name}") for alias in node.names):
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def is_module(name: str) -> bool:
    path = SRC.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


@pytest.mark.parametrize(
    ("room", "statement"),
    [
        ("wire", "from tidelog.storage.log import PartitionLog"),
        ("storage", "import time"),
        ("replication", "from tidelog.groups import x"),
        ("metadata", "import asyncio.events"),
        ("storage/segment", "from tidelog.storage.recovery.loading import load"),
        ("broker/peers", "from tidelog.broker import handlers"),
        ("groups/classic", "from tidelog.groups.consumer.assignors import registry"),
    ],
)
def test_the_rule_can_be_broken(room: str, statement: str) -> None:
    assert faults(room, ast.parse(statement))


# What a room looks like


def purpose(package: str) -> str:
    """The first line of a room's docstring."""
    path = SRC / package / "__init__.py"
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return text.partition("\n")[0]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_room_says_what_it_is_for(package: str) -> None:
    assert purpose(package).endswith(".")
    assert len(purpose(package)) <= 125


@pytest.mark.parametrize("package", [package for package in PACKAGES if package != "wire/messages"])
def test_a_room_is_small(package: str) -> None:
    names = [path.stem for path in (SRC / package).glob("*.py") if not path.stem.startswith("__")]
    assert len(names) <= MODULES_MAX, "give it sub-rooms"
    by_prefix = defaultdict(list)
    for name in names:
        if name.partition("_")[0] != SUBJECT.get(package):
            by_prefix[name.partition("_")[0]].append(name)
    spelled = [sorted(group) for group in by_prefix.values() if len(group) > PREFIX_FILES_MAX]
    assert spelled == [], "a directory spelled with an underscore: give them a sub-room, or shorter names"


# What the page says


def rows_of_page(prefix: str = "") -> dict[str, str]:
    """The rooms, or the sub-rooms of one, in the order of the page, each with its line."""
    rows = (line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("| `"))
    lines = {row[0].strip().strip("`").removesuffix("/"): row[1].strip() for row in rows if len(row) == 2}
    if not prefix:
        return {room: line for room, line in lines.items() if room.removesuffix(".py") in LEVEL}
    return {room: line for room, line in lines.items() if room.startswith(f"{prefix}/")}


def test_the_page_lists_the_rooms_from_the_lowest_to_the_highest() -> None:
    assert [room.removesuffix(".py") for room in rows_of_page()] == [
        room for layer in LAYERS for room in layer
    ]


def test_the_page_draws_the_layers() -> None:
    assert " < ".join(" | ".join(layer) for layer in LAYERS) in PAGE.replace("\n", " ")


@pytest.mark.parametrize("room", SUB_ROOMS)
def test_the_page_lists_the_sub_rooms(room: str) -> None:
    assert list(rows_of_page(room)) == [f"{room}/{sub}" for level in SUB_ROOMS[room] for sub in level]


def test_the_page_says_what_the_rooms_say() -> None:
    for room in [*LEVEL, *SUB_LEVEL]:
        lines = rows_of_page() | rows_of_page(room.partition("/")[0])
        line = lines.get(room, lines.get(f"{room}.py", ""))
        assert line.startswith(purpose(room)), f"{room}: {purpose(room)}"
