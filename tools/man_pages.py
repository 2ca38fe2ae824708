"""Writes share/man/man1/*.1 and the completion scripts below share/; `--check` only compares.

A page for `tidelog` and one for each command below it, its own commands included. The wheel carries share/.

python -m tools.man_pages
"""

import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from tidelog.cli.exits import Exit
from tidelog.cli.main import cli
from tools.commands_reference import option_record, walk
from tools.pages import run

SHARE = Path(__file__).parents[1] / "share"
COMPLETIONS = {
    "bash": SHARE / "bash-completion" / "completions" / "tidelog",
    "zsh": SHARE / "zsh" / "site-functions" / "_tidelog",
    "fish": SHARE / "fish" / "vendor_completions.d" / "tidelog.fish",
}
_MARKUP = re.compile(r"`([^`]+)`")


def man_page(name: str) -> str:
    """The page of `tidelog` (an empty name), or of one command of it."""
    title = f"tidelog-{name}" if name else "tidelog"
    contexts = [context for context in _contexts() if _top(context) == name]
    first = contexts[0]
    lines = [
        '.\\" Written by tools/man_pages.py from the commands; change those.',
        f'.TH {_text(title.upper())} 1 "" "Tidelog" "Tidelog"',
        ".nh",
        ".ad l",
        ".SH NAME",
        f"{_text(title)} \\- {_text(_summary(first.command))}",
        *(line for context in contexts for line in _command(context, is_first=context is first)),
    ]
    if not name:
        lines += [".SH COMMANDS", *_entries(first)]
        lines += [".SH EXIT STATUS", *(line for code in Exit for line in _item(str(int(code)), code.meaning))]
        lines += [".SH SEE ALSO", _see_also()]
    else:
        lines += [".SH SEE ALSO", ".BR tidelog (1)"]
    return "\n".join(lines) + "\n"


def completion_script(shell: str) -> str:
    kind = get_completion_class(shell)
    assert kind is not None
    return kind(cli, {}, "tidelog", "_TIDELOG_COMPLETE").source()


def names() -> list[str]:
    """An empty one for `tidelog` itself, then those of its commands."""
    return ["", *cli.list_commands(click.Context(cli))]


@cache
def _contexts() -> list[click.Context]:
    return list(walk())


def _top(context: click.Context) -> str:
    words = context.command_path.split(" ")
    return words[1] if len(words) > 1 else ""


def _command(context: click.Context, *, is_first: bool) -> Iterator[str]:
    command = context.command
    usage = f"\\fB{_text(context.command_path)}\\fR {_text(' '.join(command.collect_usage_pieces(context)))}"
    if is_first:
        yield from (".SH SYNOPSIS", usage, ".SH DESCRIPTION")
    else:
        yield from (f".SH {_text(context.command_path.upper())}", usage, ".PP")
    yield from _description(command.help or "")
    records = list(filter(None, map(option_record, command.params)))
    if records:
        yield ".SH OPTIONS" if is_first else ".PP"
    for names, meaning in records:
        yield from _item(names, meaning)


def _description(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(inspect.cleandoc(text).split("\n\n")):
        if paragraph.startswith("\b\n"):
            yield from (".PP", ".RS 2", ".nf", *map(_line, paragraph[2:].splitlines()), ".fi", ".RE")
        else:
            yield from ([".PP"] if number else [])
            yield _prose(paragraph)


def _entries(root: click.Context) -> Iterator[str]:
    assert isinstance(root.command, click.Group)
    for name in names()[1:]:
        command = root.command.get_command(root, name)
        assert command is not None
        yield from _item(f"tidelog-{name}(1)", _summary(command))


def _see_also() -> str:
    return ",\n".join(f".BR tidelog\\-{_text(name)} (1)" for name in names()[1:])


def _item(term: str, meaning: str) -> Iterator[str]:
    yield from (".TP", f"\\fB{_text(term)}\\fR", _prose(meaning))


def _summary(command: click.Command) -> str:
    sentence = " ".join((command.help or "").partition("\n\n")[0].split())
    return sentence.rstrip(".")


def _prose(text: str) -> str:
    return _line(" ".join(text.split()), markup=True)


def _line(text: str, markup: bool = False) -> str:
    """A line of its own: one that begins with a dot or a quote would be a request."""
    plain = _text(text)
    shown = _MARKUP.sub(r"\\fB\1\\fR", plain) if markup else plain
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return "".join(c if ord(c) < 128 else f"\\[u{ord(c):04X}]" for c in escaped)


PAGES = {
    SHARE / "man" / "man1" / f"tidelog{'-' + name if name else ''}.1": partial(man_page, name)
    for name in names()
} | {path: partial(completion_script, shell) for shell, path in COMPLETIONS.items()}

if __name__ == "__main__":
    sys.exit(run(PAGES, sys.argv[1:]))
