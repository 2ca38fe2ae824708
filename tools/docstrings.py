"""Docstrings in parts: what it is, an example, and what each argument, attribute and error means.

They are written as Google's style guide has it: `Example:`, `Args:`, `Attributes:`, `Returns:`, `Raises:`.
"""

import inspect
import re
from dataclasses import dataclass, field

SECTIONS = ("Example", "Args", "Attributes", "Returns", "Raises")
_HEAD = re.compile(rf"^({'|'.join(SECTIONS)}):$")
_ENTRY = re.compile(r"^\*{0,2}(\w+): (.*)$")


@dataclass
class Doc:
    text: str = ""
    """The paragraphs before the first section."""
    example: str = ""
    returns: str = ""
    args: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    raises: dict[str, str] = field(default_factory=dict)


def read_docstring(written: str | None) -> Doc:
    parts: dict[str, list[str]] = {"": []}
    section = ""
    for line in inspect.cleandoc(written or "").splitlines():
        if head := _HEAD.match(line):
            section = head[1]
            parts[section] = []
        else:
            parts[section].append(line)
    return Doc(
        text=_paragraphs(parts[""]),
        example=_block(parts.get("Example", [])),
        returns=" ".join(_block(parts.get("Returns", [])).split()),
        args=_entries(parts.get("Args", [])),
        attributes=_entries(parts.get("Attributes", [])),
        raises=_entries(parts.get("Raises", [])),
    )


def _paragraphs(lines: list[str]) -> str:
    """Each paragraph on one line."""
    blocks = "\n".join(lines).strip().split("\n\n")
    return "\n\n".join(" ".join(block.split()) for block in blocks)


def _block(lines: list[str]) -> str:
    return inspect.cleandoc("\n" + "\n".join(lines)).strip() if lines else ""


def _entries(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in _block(lines).splitlines():
        entry = _ENTRY.match(line)
        if entry:
            name = entry[1]
            found[name] = entry[2]
        elif name:
            found[name] += " " + line.strip()
    return found
