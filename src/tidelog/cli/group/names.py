"""Group names for the shell's TAB key, asked of the broker with a short limit."""

import click
from click.shell_completion import CompletionItem

from tidelog.cli.session import Session
from tidelog.cli.topic.names import COMPLETE_TIMEOUT_S


def complete_group(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names that start with what is typed. A broker that is away offers nothing; TAB must never fail."""
    from tidelog.cli.connection import Cluster
    from tidelog.cli.exits import CliError
    from tidelog.cli.group.admin import list_groups

    session = ctx.find_object(Session) or Session()
    session.timeout_s = COMPLETE_TIMEOUT_S
    try:
        groups = list_groups(Cluster(session))
    except CliError:
        return []
    taken = ctx.params.get("names") or ()
    return [
        CompletionItem(group.name, help=group.state)
        for group in groups
        if group.name.startswith(incomplete) and group.name not in taken
    ]
