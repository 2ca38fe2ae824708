"""A click group whose commands are imported only when they run or complete.

The table carries each command's one-line help, so `tidelog --help` imports no command either.
A test holds the lines equal to what the commands themselves say.
"""

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click


class Entry(NamedTuple):
    module: str
    attribute: str
    short_help: str


class LazyGroup(click.Group):
    def __init__(
        self, *args: Any, entries: Mapping[str, Entry], from_root: Collection[str] = (), **kwargs: Any
    ) -> None:
        """`from_root`: commands of `tidelog` itself that can be called from here too. They are not listed."""
        super().__init__(*args, **kwargs)
        self.entries = entries
        self.from_root = from_root

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.entries.get(cmd_name)
        if entry is None:
            root = ctx.find_root().command
            if cmd_name in self.from_root and isinstance(root, click.Group):
                return root.get_command(ctx, cmd_name)
            return None
        command = getattr(import_module(entry.module), entry.attribute)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.short_help) for name, entry in self.entries.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            from difflib import get_close_matches

            near = get_close_matches(name, self.entries, n=1, cutoff=0.5)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            ctx.fail(f"No such command '{name}'.{hint}")
        return super().resolve_command(ctx, args)
