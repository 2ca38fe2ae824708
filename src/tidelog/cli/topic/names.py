"""Topic names for the shell's TAB key, asked of the broker with a short limit."""

import click
from click.shell_completion import CompletionItem

from tidelog.cli.session import Session

COMPLETE_TIMEOUT_S = 1.0


def complete_topic(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names that start with what is typed. A broker that is away offers nothing; TAB must never fail."""
    from tidelog.cli.connection import Cluster
    from tidelog.cli.exits import CliError
    from tidelog.cli.topic.admin import list_names

    session = ctx.find_object(Session) or Session()
    session.timeout_s = COMPLETE_TIMEOUT_S
    try:
        topics = list_names(Cluster(session))
    except CliError:
        return []
    taken = ctx.params.get("names") or ()
    return [
        CompletionItem(topic.topic)
        for topic in topics
        if topic.topic.startswith(incomplete) and topic.topic not in taken
    ]
