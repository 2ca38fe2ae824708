"""A click group whose help shows the first sentence of each command whole; click would cut it at the edge."""

import click


class FullHelpGroup(click.Group):
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [self.get_command(ctx, name) for name in self.list_commands(ctx)]
        rows = [(command.name or "", _first_paragraph(command)) for command in commands if command]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def _first_paragraph(command: click.Command) -> str:
    return " ".join((command.short_help or command.help or "").partition("\n\n")[0].split())
