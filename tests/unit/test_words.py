"""One word for one thing: no retired words in src, unique class names, and a glossary in order."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()

# Each retired word with its forms. The glossary says which word stands in its place.
RETIRED = {
    "folder": {"folder", "folders"},
    "home": {"home", "homes"},
    "safe": {"safe", "safely", "unsafe"},
    "cut": {"cut", "cuts", "uncut"},
    "settle": {"settle", "settles", "settled", "settling", "unsettled"},
    "handover": {"handover", "handovers"},
    "insistence": {"insist", "insists", "insistence"},
    "wish": {"wish", "wishes", "wished"},
    "modern": {"modern"},
    "told": {"told"},
    "news": {"news"},
    "doomed": {"doomed"},
    "dirt": {"dirt"},
}
WORD_OF = {form: word for word, forms in RETIRED.items() for form in forms}

# Names that keep a retired word, since it is not ours.
NOT_OURS = {
    "java_home": "the variable JAVA_HOME",
    "SAFE_DOWNGRADE": "Kafka's UpdateFeatures",
    "UNSAFE_DOWNGRADE": "Kafka's UpdateFeatures",
}
POWER_CUT = {"power", "cut"}
"""What a simulated machine suffers; it cuts no log and no network."""

# Each of these is read as a whole: a class name means one thing in it.
PROGRAMS = {
    "broker": [
        *("base", "wire", "storage", "raft", "coordination", "metadata", "replication", "groups"),
        *("transactions", "broker", "server", "node"),
    ],
    "blocking": ["blocking"],
    "clients": ["clients"],
    "spark": ["spark"],
    "testing": ["testing"],
    "cli": ["cli"],
}

# Class names that several modules of a program give to different things, each plain where it stands.
SHARED_CLASS_NAMES = {
    "Context": "of a request; of a step of a group",
    "DescribedMember": "each kind of group describes its own",
    "Draft": "each kind of group drafts its next epoch",
    "Endpoint": "of a broker; of a streams instance, on the wire and on disk",
    "HeartbeatAnswer": "each kind of group has its heartbeat",
    "HeartbeatRequest": "each kind of group has its heartbeat",
    "Key": "each kind of group has its records",
    "Kind": "of an option's value; of a decoder",
    "Leadership": "of the quorum; of a partition",
    "Listed": "a group; a transaction",
    "Member": "of the quorum; of a fleet",
    "Message": "of Raft; of the wire protocol",
    "Move": "between log dirs; between brokers",
    "Role": "in Raft; of a streams task",
    "Source": "of compaction; of generated code",
    "Standing": "of a reset; of a reassignment",
    "State": "of a classic group; of a transaction",
    "Step": "of a group's decision; of a pattern's automaton",
    "StreamWriter": "Spark's name, for the sink and for the lake",
    "TaskReport": "what a task tells the driver, of the sink and of the lake",
    "Upsert": "as an option; as a pipeline says it",
}

SOURCES = sorted(path for path in SRC.rglob("*.py") if path.parent.name != "messages")  # those are generated


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[1].removesuffix(".py")


def words_of(name: str) -> list[str]:
    """The words of `an_identifier`, `AnIdentifier` or `AN_IDENTIFIER`, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def bound_names(tree: ast.AST) -> Iterator[str]:
    """What a module names itself; what it calls of others keeps their words."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname


def retired_words(name: str) -> set[str]:
    words = words_of(name)
    if name in NOT_OURS or set(words) >= POWER_CUT:
        return set()
    return {word for word in words if word in WORD_OF}


def test_retired_words_are_gone() -> None:
    found = [
        f"{path.relative_to(SRC)}: {name}"
        for path in SOURCES
        for name in sorted({path.stem, path.parent.name, *bound_names(ast.parse(path.read_text()))})
        if retired_words(name)
    ]
    assert found == [], "docs/glossary.md says which words to use"


@pytest.mark.parametrize("name", ["data_folder", "FolderNode", "_is_settled", "SAFE_END", "cut_off"])
def test_a_retired_word_is_noticed(name: str) -> None:
    assert retired_words(name)


@pytest.mark.parametrize(
    "name", ["power_cut_at", "PowerCut", "java_home", "shortcut", "call_soon_threadsafe"]
)
def test_other_words_are_left_alone(name: str) -> None:
    assert not retired_words(name)


@pytest.mark.parametrize("program", PROGRAMS)
def test_class_names_are_unique(program: str) -> None:
    places = classes_of(program)
    shared = {
        name: where for name, where in places.items() if len(where) > 1 and name not in SHARED_CLASS_NAMES
    }
    assert shared == {}


def classes_of(program: str) -> dict[str, list[str]]:
    """Public ones, with the files that define them."""
    places = defaultdict(list)
    for path in SOURCES:
        if room_of(path) in PROGRAMS[program]:
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(str(path.relative_to(SRC)))
    return places


def terms() -> list[str]:
    return re.findall(r"^\*\*(.+?)\*\*: ", GLOSSARY, re.MULTILINE)


def test_the_glossary_has_each_term_once_in_alphabetical_order() -> None:
    assert terms() == sorted(set(terms()), key=str.lower)


def test_the_glossary_lists_every_retired_word() -> None:
    table = GLOSSARY.partition("## Words we do not use")[2]
    rows = re.findall(r"^\| (.+?) \| (.+?) \| ", table, re.MULTILINE)
    assert {word for _, word in rows} - {"not"} == set(RETIRED)
