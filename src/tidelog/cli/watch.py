"""`--watch`: show the same thing again and again until Ctrl-C, in place on a terminal.

Through a pipe every turn is printed after the last one; with --json a turn is one line. A broker that goes
away after the first turn is reported and waited for: people watch to see it come back.
"""

import io
import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from typing import Any, TypeVar

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import print_json, print_json_line
from tidelog.cli.session import Session

Command = TypeVar("Command", bound=Callable[..., Any])
Value = TypeVar("Value")

DEFAULT_INTERVAL_S = 2.0
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


def watch_options(command: Command) -> Command:
    interval = click.option(
        "--interval",
        type=click.FloatRange(min=0.1),
        default=DEFAULT_INTERVAL_S,
        metavar="SECONDS",
        help=f"How long --watch waits between updates. [default: {DEFAULT_INTERVAL_S:g}]",
    )
    watch = click.option("-w", "--watch", is_flag=True, help="Update the output until Ctrl-C.")
    return watch(interval(command))


def show(
    session: Session,
    look: Callable[[], Value],
    as_json: Callable[[Value], object],
    draw: Callable[[Value], None],
    *,
    watch: bool,
    interval_s: float,
    line: Callable[[Value], str] | None = None,
) -> None:
    """Print what `look` finds, once or until Ctrl-C. `line`: what a pipe gets of a turn instead of all."""
    if not watch:
        found = look()
        print_json(as_json(found)) if session.json else draw(found)
        return
    in_place = sys.stdout.isatty() and not session.json
    screen = Screen(interval_s) if in_place else None
    seen = False
    try:
        while True:
            try:
                found = look()
            except CliError as error:
                if not seen or error.code not in (Exit.UNREACHABLE, Exit.TIMED_OUT):
                    raise
                _say_lost(error, session, screen)
            else:
                seen = True
                if screen is not None:
                    screen.draw(lambda: draw(found))  # noqa: B023 - called at once
                elif session.json:
                    print_json_line(as_json(found))
                elif line is not None:
                    print(line(found))
                else:
                    draw(found)
                    print()
            sys.stdout.flush()
            time.sleep(interval_s)
    finally:
        if screen is not None:
            screen.leave()


def _say_lost(error: CliError, session: Session, screen: "Screen | None") -> None:
    if screen is not None:
        screen.draw(lambda: print("\n".join(error.lines())))
    elif session.json:
        print(json.dumps(error.as_json(), ensure_ascii=False), file=sys.stderr, flush=True)
    else:
        print(error.message, file=sys.stderr, flush=True)


class Screen:
    """The last lines of a terminal, drawn over at every turn; the last turn stays when it is left."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._drawn = 0

    def draw(self, show_it: Callable[[], None]) -> None:
        page = _Page()
        with redirect_stdout(page):
            show_it()
        head = f"{time.strftime('%H:%M:%S')}, every {self._interval_s:g} s, Ctrl-C ends"
        lines = fitted([head, *page.getvalue().splitlines()], shutil.get_terminal_size().lines)
        sys.stdout.write(HIDE_CURSOR + redrawn(lines, self._drawn))
        self._drawn = len(lines)

    def leave(self) -> None:
        sys.stdout.write(SHOW_CURSOR)
        sys.stdout.flush()


class _Page(io.StringIO):
    """Takes what would be printed; says it is a terminal, so that colours and the width stay."""

    def isatty(self) -> bool:
        return True


def fitted(lines: Sequence[str], height: int) -> list[str]:
    """What fits on a screen, with a line to spare for the cursor: more would scroll out of reach."""
    room = max(2, height - 1)
    if len(lines) <= room:
        return list(lines)
    return [*lines[: room - 1], f"… and {len(lines) - room + 1} more lines"]


def redrawn(lines: Sequence[str], drawn: int) -> str:
    """Back over what was drawn before, then each line anew, then nothing that is left of the old."""
    back = f"\x1b[{drawn}F" if drawn else ""
    return back + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J"
