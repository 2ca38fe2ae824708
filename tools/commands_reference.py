"""Writes docs/reference/commands.md from the commands themselves; `--check` only compares.

python -m tools.commands_reference
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tidelog.cli.exits import Exit
from tidelog.cli.main import cli
from tidelog.cli.session import broker_options
from tools.pages import run

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "commands.md"

INTRODUCTION = """\
<!-- Written by tools/commands_reference.py from the commands; change those. -->

# Commands

The commands that talk to a broker speak the Kafka protocol, so they work with every Kafka-compatible
broker. They print tables for people; with `--json` they print JSON on stdout, and errors as one JSON
object on stderr. Colours appear on a terminal only, and never where `NO_COLOR` is set. A pipe gets every
value in full.

`tidelog completion bash|zsh|fish` prints the script for the TAB key, which knows the names of topics and
groups too.
"""

SHARED = """
## Options of every command that talks to a broker

They may also stand in front, as in `tidelog -b broker-1:9092 --json topic list`, as far as `tidelog` itself
takes them.

| option | meaning |
|---|---|
"""


def page() -> str:
    parts = [INTRODUCTION, "## Exit codes\n", "| code | meaning |\n|---|---|"]
    parts += [f"| {int(code)} | {_cell(code.meaning)} |" for code in Exit]
    sections = [_section(context) for context in walk()]
    shared = SHARED + "\n".join(filter(None, map(_option_row, broker_parameters()))) + "\n"
    return "\n".join(parts) + "\n" + shared + "\n" + "\n".join(sections)


def broker_parameters() -> list[click.Parameter]:
    def bare() -> None:
        """Carries the options."""

    return click.command()(broker_options(bare)).params


def walk() -> Iterator[click.Context]:
    """A context for `tidelog` and for every command below it, in the order of the help."""
    return _walk(click.Context(cli, info_name="tidelog"))


def _walk(context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            if command is not None:
                yield from _walk(click.Context(command, info_name=name, parent=context))


def _section(context: click.Context) -> str:
    command = context.command
    level = "##" if context.parent is None or context.parent.parent is None else "###"
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [
        f"{level} `{context.command_path}`",
        "",
        *_description(command.help or ""),
        "",
        f"    {usage}",
        "",
    ]
    shared = {parameter.name for parameter in broker_parameters()}
    talks = shared <= {parameter.name for parameter in command.params}
    own = [parameter for parameter in command.params if not (talks and parameter.name in shared)]
    if rows := [row for row in map(_option_row, own) if row]:
        lines += ["| option | meaning |", "|---|---|", *rows, ""]
    if talks:
        lines += ["Talks to a broker.", ""]
    return "\n".join(lines)


def _description(text: str) -> list[str]:
    """Paragraphs as they are; click's unwrapped blocks (after a \\b) become code."""
    lines = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            lines += ["```sh", *paragraph[2:].splitlines(), "```", ""]
        else:
            lines += [paragraph, ""]
    return lines[:-1]


def _option_row(parameter: click.Parameter) -> str | None:
    if not isinstance(parameter, click.Option):
        return None
    record = parameter.get_help_record(click.Context(cli))
    if record is None:
        return None
    names, meaning = map(_cell, record)
    meaning = re.sub(r" ?\[[x0-9<>=;. ]+\]$", "", meaning)  # click's way to write bounds is no prose
    return f"| `{names}` | {meaning} |"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


PAGES = {PAGE: page}

if __name__ == "__main__":
    sys.exit(run(PAGES, sys.argv[1:]))
