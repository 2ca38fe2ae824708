"""How results are shown: JSON for scripts, tables for people, colours only on a terminal.

A pipe gets the full width of every cell, so that grep and awk never see a cut value.
"""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 100_000  # rich must never wrap or cut what another program reads


def print_json(value: object) -> None:
    """One document; indented for a person's eyes, on one line for a program's."""
    indent = 2 if sys.stdout.isatty() else None
    print(json.dumps(value, ensure_ascii=False, indent=indent))


def print_json_line(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def console(stderr: bool = False) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, soft_wrap=False, emoji=False)


def coloured(stream: TextIO | None = None) -> bool:
    """Whether the output is a terminal, and NO_COLOR is not set."""
    return (stream or sys.stdout).isatty() and not os.environ.get("NO_COLOR")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> None:
    """A table without frames. A column whose name starts with '>' holds numbers and aligns right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=None,
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold cyan",
        show_header=bool(columns),
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for number, column in enumerate(columns):
        right = column.startswith(">")
        # The first column holds names, which people copy: the others give way on a narrow screen.
        table.add_column(
            column.lstrip(">"), justify="right" if right else "left", overflow="fold", no_wrap=number == 0
        )
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(_cell(cell)) for cell in row))
    screen = console()
    with screen.capture() as capture:
        screen.print(table)
    for line in capture.get().splitlines():
        print(line.rstrip())


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_cell, value))
    return str(value)


def say(text: str) -> None:
    """One line of rich markup for a person."""
    console().print(text)


def note(text: str) -> None:
    """A remark for the person at the terminal; stdout stays clean for data."""
    console(stderr=True).print(text)
