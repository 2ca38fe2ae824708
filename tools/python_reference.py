"""Writes docs/reference/python.md from the docstrings of the public names; `--check` only compares.

python -m tools.python_reference
"""

import importlib
import re
import sys
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from tools.docstrings import Doc, read_docstring
from tools.pages import run
from tools.public_names import SECTIONS, SPOKEN, Section, documented_base, function_of, members, public
from tools.signatures import annotated_fields, signature

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "python.md"

HEAD = """\
<!-- Written by tools/python_reference.py from the docstrings; change those. -->

# Python API

Every public name of `tidelog`, `tidelog.testing` and `tidelog.spark`: what `help()` shows, on one page. The
[guide to the client](../client.md) shows how the parts work together. A test runs every example; one with
`localhost:9092` needs a broker there (`tidelog up`).
"""


def page() -> str:
    names = {name for section in SECTIONS for name in section.names.split()}
    parts = [HEAD, *_contents(), *(_section(section, names) for section in SECTIONS)]
    return "\n".join(parts)


def _contents() -> list[str]:
    rows = [f"| [{section.title}]({_anchor(section.title)}) | {_listed(section)} |" for section in SECTIONS]
    return ["| | |", "|---|---|", *rows, ""]


def _anchor(title: str) -> str:
    return "#" + title.lower().replace(" ", "-")


def _listed(section: Section) -> str:
    things = dict(public())
    return ", ".join(
        f"`{name}`" if _is_plain_error(things[name]) else f"[`{name}`](#{name.lower()})"
        for name in section.names.split()
    )


def _section(section: Section, names: set[str]) -> str:
    lines = [f"## {section.title}", ""]
    if section.text:
        lines += [section.text, ""]
    lines += [f"Import from `{section.module}`.", ""] if "fixtures" not in section.title.lower() else []
    module = importlib.import_module(section.module)
    things = [(name, getattr(module, name)) for name in section.names.split()]
    table = [thing for thing in things if _is_plain_error(thing[1])]
    for name, thing in things:
        if (name, thing) not in table:
            lines += _thing(name, thing, "fixture" in section.title.lower())
    if table:
        lines += ["| error | what happened | likely cause | what to do |", "|---|---|---|---|"]
        lines += [_error_row(name, kind) for name, kind in table]
        lines.append("")
    return _linked("\n".join(lines), names)


def _is_plain_error(thing: Any) -> bool:
    if not (isinstance(thing, type) and issubclass(thing, Exception) and hasattr(thing, "attempt")):
        return False
    doc = read_docstring(thing.__doc__)
    return not doc.example and not doc.attributes


def _error_row(name: str, kind: Any) -> str:
    said = read_docstring(kind.__doc__).text
    return f"| **{name}** | {_cell(said)} | {_cell(kind.cause)} | {_cell(kind.attempt)} |"


def _thing(name: str, thing: Any, is_fixture: bool) -> list[str]:
    doc = read_docstring(function_of(thing).__doc__ if not isinstance(thing, type) else thing.__doc__)
    lines = [f"### {name}", ""]
    if not isinstance(thing, type):
        shown = [] if is_fixture else _code(signature(name, function_of(thing)))
        return [*lines, *shown, *_prose(doc)]
    if base := documented_base(thing):
        doc.text += f"\n\nIt extends `{base.__name__}`, and has everything that it has."
    has_fields = is_dataclass(thing) or issubclass(thing, Enum | tuple)
    if not has_fields and "__init__" in vars(thing) and doc.args:
        lines += _code(signature(name, vars(thing)["__init__"]))
    lines += _prose(doc, without_attributes=has_fields)
    if has_fields:
        lines += _fields(thing, doc)
    for each, member in members(thing):
        lines += _member(name, each, member)
    return lines


def _member(owner: str, name: str, member: Any) -> list[str]:
    function = function_of(member)
    doc = read_docstring(function.__doc__)
    if isinstance(member, property):
        return [f"#### {owner}.{name}", "", *_prose(doc)]
    shown = SPOKEN_AS.get(name, f"{owner}.{name}")
    code = [] if name in SPOKEN else _code(signature(name, function))
    return [f"#### {shown.format(owner=owner)}", "", *code, *_prose(doc)]


SPOKEN_AS = {
    "__len__": "len({owner})",
    "__iter__": "for message in {owner}",
    "__aiter__": "async for message in {owner}",
}


def _prose(doc: Doc, *, without_attributes: bool = False) -> list[str]:
    lines = [doc.text, ""]
    if doc.example:
        lines += _code(doc.example)
    if doc.args:
        lines += [*_bullets(doc.args), ""]
    if doc.attributes and not without_attributes:
        lines += ["Attributes:", "", *_bullets(doc.attributes), ""]
    if doc.returns:
        lines += [
            f"Returns: {doc.returns[0].lower()}{doc.returns[1:]}"
            if _is_plain(doc.returns)
            else f"Returns: {doc.returns}",
            "",
        ]
    if doc.raises:
        lines += ["Raises:", "", *_bullets(doc.raises), ""]
    return lines


def _is_plain(text: str) -> bool:
    return not text.startswith(("`", "True", "False", "None"))


def _bullets(entries: dict[str, str]) -> list[str]:
    return [f"- `{name}`: {text}" for name, text in entries.items()]


def _fields(kind: type, doc: Doc) -> list[str]:
    """The fields of a dataclass or tuple with type and default, or the members of an enum."""
    if issubclass(kind, Enum):
        rows = [f"| `{kind.__name__}.{each.name}` | {_cell(doc.attributes[each.name])} |" for each in kind]
        return ["| member | meaning |", "|---|---|", *rows, ""]
    written = dict(annotated_fields(kind))
    rows = []
    for name, text in doc.attributes.items():
        type_text, default = written[name]
        rows.append(
            f"| `{name}` | `{_cell(type_text)}` | {default and f'`{_cell(default)}`'} | {_cell(text)} |"
        )
    if not any(default for _, default in written.values()):
        rows = [re.sub(r" \|  \| ", " | ", row, count=1) for row in rows]
        return ["| field | type | meaning |", "|---|---|---|", *rows, ""]
    return ["| field | type | default | meaning |", "|---|---|---|---|", *rows, ""]


def _code(text: str) -> list[str]:
    return ["```python", text, "```", ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _linked(text: str, names: set[str]) -> str:
    """`Name` in prose leads to its place on the page."""
    parts = re.split(r"(```.*?```)", text, flags=re.DOTALL)
    for number in range(0, len(parts), 2):
        parts[number] = re.sub(r"(?<!\[)`(\w+)`", lambda found: _link(found[1], names), parts[number])
    return "".join(parts)


def _link(name: str, names: set[str]) -> str:
    if name not in names:
        return f"`{name}`"
    thing = dict(public())[name]
    return f"[`{name}`](#{'errors' if _is_plain_error(thing) else name.lower()})"


PAGES = {PAGE: page}

if __name__ == "__main__":
    sys.exit(run(PAGES, sys.argv[1:]))
