"""Subjects for the shell's TAB key, asked of the registry with a short limit."""

import click
from click.shell_completion import CompletionItem

from tidelog.cli.session import Session

COMPLETE_TIMEOUT_S = 1.0


def complete_subject(
    ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Subjects that start with what is typed. A registry that is away offers nothing; TAB must never fail."""
    from dataclasses import replace

    from tidelog.base.errors import TidelogError
    from tidelog.blocking.registry.client import RegistryClient
    from tidelog.cli.exits import CliError
    from tidelog.cli.schema.connection import default_registry, find_registry

    session = ctx.find_object(Session) or Session()
    session.timeout_s = COMPLETE_TIMEOUT_S
    try:
        options = find_registry(session, ctx.params.get("registry_url")) or default_registry(session)
        with RegistryClient(replace(options, retry_s=0.0)) as client:
            return [CompletionItem(name) for name in client.subjects() if name.startswith(incomplete)]
    except (CliError, TidelogError):
        return []


def _not_empty(_ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not value:
        raise click.BadParameter("a subject has a name, such as orders-value.")
    return value


subject_argument = click.argument("subject", shell_complete=complete_subject, callback=_not_empty)
