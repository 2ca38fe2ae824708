"""The options and arguments that the commands of `tidelog config` share."""

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from tidelog.cli.config.table import known_settings
from tidelog.cli.session import Command

all_option = click.option("-a", "--all", "everything", is_flag=True, help="Defaults too.")


def complete_setting(kind: str) -> Any:
    def complete(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        names = [name for name in known_settings(kind) if name.startswith(incomplete)]
        return [CompletionItem(name) for name in names]

    return complete


def settings_argument(kind: str, name: str, metavar: str, required: bool) -> Callable[[Command], Command]:
    return click.argument(
        name, nargs=-1, required=required, metavar=metavar, shell_complete=complete_setting(kind)
    )


def some_names(kind: str) -> Callable[[Command], Command]:
    return settings_argument(kind, "names", "[SETTING]…", False)


def names_to_unset(kind: str) -> Callable[[Command], Command]:
    return settings_argument(kind, "names", "SETTING…", True)


def values_to_set(kind: str) -> Callable[[Command], Command]:
    return settings_argument(kind, "values", "SETTING=VALUE…", True)
