"""The pages that lead a reader through the code: every file, function, link and test that they name exists.

A reference is `path/of/a/file.py:Class.method`, with a path below the repository or below `src/tidelog`.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tidelog"
TOUR = ROOT / "docs" / "tour.md"
QUESTIONS = ROOT / "docs" / "questions.md"
QUESTION_COUNT = 50
THEORY = (
    "replication/leadership.py",
    "broker/replication/replica_fetch.py",
    "broker/requests/produce_shortcut.py",
    "spark/sink/two_phase_commit.py",
    "transactions/ending.py",
)
"""The files that open with a page of theory."""
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]

_REFERENCE = re.compile(r"([\w./-]+\.py):([A-Za-z_][\w.]*)")
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
_PATH = re.compile(r"`((?:src|tests|docs|benches)/[\w./-]+?)[`:]")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def find(path: str) -> Path | None:
    return next((base / path for base in (SOURCE, ROOT) if (base / path).is_file()), None)


@cache
def names_of(path: Path) -> frozenset[str]:
    return frozenset(_names(ast.parse(path.read_text()).body, ""))


def _names(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name
            case ast.ClassDef(name=name):
                yield prefix + name
                yield from _names(node.body, f"{prefix}{name}.")
            case ast.Assign(targets=targets):
                yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name


def broken_references(text: str) -> list[str]:
    broken = []
    for path, name in _REFERENCE.findall(text):
        file = find(path)
        if file is None:
            broken.append(f"{path} is not there")
        elif name.rstrip(".") not in names_of(file):
            broken.append(f"{path} has no {name}")
    return broken


def headings_of(page: Path) -> set[str]:
    """As GitHub makes anchors of them."""
    text = _FENCE.sub("", page.read_text())
    found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in found}


def broken_links(page: Path) -> list[str]:
    broken = []
    for text, target in _LINK.findall(_FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        reference = _REFERENCE.search(text)
        if not file.exists():
            broken.append(f"{target} is not there")
        elif anchor and anchor not in headings_of(file):
            broken.append(f"{target} has no such heading")
        elif reference is not None and find(reference[1]) != file.resolve():
            broken.append(f"{text} links to {target}")
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


@pytest.mark.parametrize("page", [TOUR, QUESTIONS], ids=lambda page: page.name)
def test_named_functions_exist(page: Path) -> None:
    text = page.read_text()
    assert len(_REFERENCE.findall(text)) > 30, "the pages point into the code at each step"
    assert broken_references(text) == []


@pytest.mark.parametrize("name", THEORY)
def test_a_page_of_theory_names_what_shows_it(name: str) -> None:
    theory = ast.get_docstring(ast.parse((SOURCE / name).read_text())) or ""
    assert "What can go wrong" in theory
    assert "The rule" in theory
    assert "Why this is enough" in theory
    paths = _PATH.findall(theory)
    assert any(path.startswith("tests/") for path in paths)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert broken_references(theory) == []


def test_each_chapter_of_the_tour_has_a_picture() -> None:
    chapters = re.split(r"^## \d+\. ", TOUR.read_text(), flags=re.MULTILINE)[1:]
    assert [chapter.partition("\n")[0] for chapter in chapters[:-1] if "```mermaid" not in chapter] == []


def test_there_are_fifty_questions_and_each_points_at_its_proof() -> None:
    parts = re.split(r"^### (\d+)\. ", QUESTIONS.read_text(), flags=re.MULTILINE)
    numbers = [int(number) for number in parts[1::2]]
    assert numbers == list(range(1, QUESTION_COUNT + 1))
    for number, answer in zip(numbers, parts[2::2], strict=True):
        assert _LINK.search(answer) or _REFERENCE.search(answer), f"question {number} points nowhere"


def test_what_a_reader_is_to_run_imports_what_exists() -> None:
    scripts = re.findall(r"<<'END'\n(.*?)\nEND\n", TOUR.read_text(), re.DOTALL)
    scripts.append((ROOT / "examples" / "failover_from_a_seed.py").read_text())
    assert [missing for script in scripts for missing in missing_imports(script)] == []


def missing_imports(script: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(script)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tidelog."):
            file = ROOT / "src" / f"{(node.module or '').replace('.', '/')}.py"
            known = names_of(file) if file.is_file() else frozenset()
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name not in known)


def test_a_wrong_name_is_noticed() -> None:
    here = "tests/unit/test_docs_names.py"
    assert broken_references(f"see {here}:find, {here}:THEORY. And {here}:test_links_lead_somewhere") == []
    assert broken_references(f"{here}:no_such_name") == [f"{here} has no no_such_name"]
    assert broken_references("broker/nowhere.py:name") == ["broker/nowhere.py is not there"]
