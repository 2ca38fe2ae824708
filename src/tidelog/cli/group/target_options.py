"""Options that say where a group of any kind is moved to, and that it is really done."""

import click

from tidelog.cli.group.target import DurationType, TimeType
from tidelog.cli.session import Command


def place_options(command: Command) -> Command:
    """`moment`, `duration` and `offset`."""
    for option in (
        click.option(
            "--to-offset", "offset", type=click.IntRange(min=0), metavar="N", help="To this offset."
        ),
        click.option(
            "--by-duration",
            "duration",
            type=DurationType(),
            metavar="DURATION",
            help="To the first record of the last 30m, 1h, 1d12h or PT1H30M.",
        ),
        click.option(
            "--to-datetime",
            "--to-time",
            "moment",
            type=TimeType(),
            metavar="TIME",
            help="To the first record at or after 2026-11-15T08:00 (local unless it names a zone), an age "
            "(5m, 2h, 1d), or @milliseconds; the end where there is none.",
        ),
    ):
        command = option(command)
    return command


def execute_options(command: Command) -> Command:
    """`dry_run` and `execute`."""
    executed = click.option("--execute", is_flag=True, help="Do it.")(command)
    return click.option("--dry-run", is_flag=True, help="Only show what would change. That is the default.")(
        executed
    )
