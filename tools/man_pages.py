"""Man pages made of docs/reference/commands.md: one for `tidelog`, one for each command and all below it.

`hatch_build.py` puts them into the wheel when it is built, so this file needs nothing but Python.

    python -m tools.man_pages DIR
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

REFERENCE = Path(__file__).parents[1] / "docs" / "reference" / "commands.md"

_HEADING = re.compile(r"^##+ (.*)$", re.MULTILINE)
_ROW = re.compile(r"\| (.*?) (?<!\\)\| (.*) \|")
_FENCE = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")


def man_pages(reference: str) -> dict[str, str]:
    """By their names: `tidelog.1`, `tidelog-topic.1`."""
    _, *parts = _HEADING.split(reference)
    sections = dict(zip(map(_unquoted, parts[::2]), parts[1::2], strict=True))
    commands = [title for title in sections if title.split(" ")[0] == "tidelog"]
    tops = [title for title in commands if title.count(" ") == 1]
    pages = {}
    for top in ["tidelog", *tops]:
        below = [title for title in commands if title.startswith(f"{top} ")] if top in tops else []
        lines = [*_head(top, sections[top]), *_command(top, sections[top], is_first=True)]
        for title in below:
            lines += _command(title, sections[title], is_first=False)
        if top == "tidelog":
            lines += _common(sections, tops)
        others = [one.replace(" ", "-") for one in tops] if top == "tidelog" else ["tidelog"]
        lines += [".SH SEE ALSO", *(f".BR {_text(other)} (1){_comma(other, others)}" for other in others)]
        pages[f"{top.replace(' ', '-')}.1"] = "\n".join(lines) + "\n"
    return pages


def _head(title: str, section: str) -> Iterator[str]:
    name = title.replace(" ", "-")
    yield '.\\" Made of docs/reference/commands.md when the wheel is built.'
    yield from (f'.TH {_text(name.upper())} 1 "" "Tidelog" "Tidelog"', ".nh", ".ad l")
    yield from (".SH NAME", f"{_text(name)} \\- {_text(_summary(section))}")


def _command(title: str, section: str, *, is_first: bool) -> Iterator[str]:
    """Usage, description and options."""
    usage = next(line.strip() for line in section.splitlines() if line.startswith(f"    {title}"))
    heading = ".SH SYNOPSIS" if is_first else f".SH {_text(title.upper())}"
    yield from (heading, f"\\fB{_text(title)}\\fR{_text(usage.removeprefix(title))}")
    yield ".SH DESCRIPTION" if is_first else ".PP"
    yield from _description(section.partition(f"    {usage}")[0])
    rows = _rows(section)
    yield from ([".SH OPTIONS"] if is_first and rows else [])
    for names, meaning in rows:
        yield from _item(names, meaning)
    if "\nTalks to a broker." in section:
        yield from (".PP", "Talks to a broker, with the options for that in")
        yield ".BR tidelog (1)."


def _common(sections: dict[str, str], tops: list[str]) -> Iterator[str]:
    shared = next(text for title, text in sections.items() if title.startswith("Options of every command"))
    yield from (".SH OPTIONS OF EVERY COMMAND THAT TALKS TO A BROKER", _prose(shared.partition("|")[0]))
    for names, meaning in _rows(shared):
        yield from _item(names, meaning)
    yield ".SH COMMANDS"
    for title in tops:
        yield from _item(f"{title.replace(' ', '-')}(1)", _summary(sections[title]))
    yield ".SH EXIT STATUS"
    for code, meaning in _rows(sections["Exit codes"]):
        yield from _item(code, meaning)


def _description(text: str) -> Iterator[str]:
    for number, part in enumerate(_FENCE.split(text)):
        if number % 2:
            yield from (".PP", ".RS 2", ".nf", *map(_line, part.splitlines()), ".fi", ".RE")
            continue
        for paragraph in filter(None, map(str.strip, part.split("\n\n"))):
            yield from (".PP", _prose(paragraph))


def _rows(section: str) -> list[tuple[str, str]]:
    """The body of the only table."""
    rows = [match.groups() for match in map(_ROW.fullmatch, section.splitlines()) if match]
    return [(_unquoted(names), meaning.replace("\\|", "|")) for names, meaning in rows[1:]]


def _summary(section: str) -> str:
    return " ".join(section.strip().partition("\n\n")[0].split()).rstrip(".")


def _item(term: str, meaning: str) -> Iterator[str]:
    yield from (".TP", f"\\fB{_text(term)}\\fR", _prose(meaning))


def _prose(text: str) -> str:
    return _CODE.sub(r"\\fB\1\\fR", _line(" ".join(text.split())))


def _line(text: str) -> str:
    """A line of its own: one that begins with a dot or a quote would be a request."""
    return f"\\&{_text(text)}" if text.startswith((".", "'")) else _text(text)


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return "".join(c if ord(c) < 128 else f"\\[u{ord(c):04X}]" for c in escaped)


def _unquoted(text: str) -> str:
    return text.strip("`").replace("\\|", "|")


def _comma(one: str, others: list[str]) -> str:
    return "" if one == others[-1] else " ,"


def write_man_pages(directory: Path) -> list[Path]:
    directory.mkdir(parents=True, exist_ok=True)
    pages = man_pages(REFERENCE.read_text(encoding="utf-8"))
    for name, text in pages.items():
        (directory / name).write_text(text, encoding="utf-8")
    return [directory / name for name in pages]


if __name__ == "__main__":
    write_man_pages(Path(sys.argv[1]))
