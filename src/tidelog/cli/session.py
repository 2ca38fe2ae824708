"""What the global options say: which brokers, JSON or tables, client properties, how long to wait.

The options may stand before or after the command's name; the last one wins.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from tidelog.blocking.brokers import Brokers

DEFAULT_SERVERS = "localhost:9092"
SERVERS_VARIABLE = "TIDELOG_BOOTSTRAP_SERVERS"
DEFAULT_TIMEOUT_S = 15.0

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass
class Session:
    servers: str = DEFAULT_SERVERS
    json: bool = False
    timeout_s: float = DEFAULT_TIMEOUT_S
    properties: dict[str, str] = field(default_factory=dict)
    clients: list[object] = field(default_factory=list)
    """librdkafka's clients that were made; the process takes them down when it ends."""
    brokers: "Brokers | None" = None
    """Connections of our own client: opened by the first command that needs them, closed with the session."""

    def close(self) -> None:
        if self.brokers is not None:
            self.brokers.close()


pass_session = click.make_pass_decorator(Session, ensure=True)


def json_option(command: Command) -> Command:
    """`--json`: machine-readable output on stdout, errors as JSON on stderr."""

    def remember(ctx: click.Context, _parameter: click.Parameter, value: bool) -> bool:
        if value:
            ctx.ensure_object(Session).json = True
        return value

    return click.option(
        "--json",
        "json",
        is_flag=True,
        expose_value=False,
        callback=remember,
        help="Print JSON instead of tables.",
    )(command)


def broker_options(command: Command) -> Command:
    """The options of every command that talks to a broker."""
    for option in reversed((servers_option, json_option, _properties, _timeout)):
        command = option(command)
    return command


def servers_option(command: Command, envvar: str | None = None) -> Command:
    """`-b`; only the outermost one reads the environment, so that it never outranks a flag."""

    def remember(ctx: click.Context, _parameter: click.Parameter, value: str | None) -> None:
        if value:
            ctx.ensure_object(Session).servers = value

    return click.option(
        "-b",
        "--bootstrap-server",
        expose_value=False,
        callback=remember,
        envvar=envvar,
        metavar="HOST:PORT,…",
        help=f"Brokers to contact first. [default: {DEFAULT_SERVERS}; env: {SERVERS_VARIABLE}]",
    )(command)


def _properties(command: Command) -> Command:
    def remember(ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> None:
        ctx.ensure_object(Session).properties.update(map(parse_pair, values))

    return click.option(
        "-X",
        "--client-property",
        multiple=True,
        expose_value=False,
        callback=remember,
        metavar="NAME=VALUE",
        help="A librdkafka property, such as security.protocol=ssl. Repeatable.",
    )(command)


def _timeout(command: Command) -> Command:
    def remember(ctx: click.Context, _parameter: click.Parameter, value: float) -> None:
        ctx.ensure_object(Session).timeout_s = value

    return click.option(
        "--timeout",
        type=click.FloatRange(min=0.1),
        default=DEFAULT_TIMEOUT_S,
        expose_value=False,
        callback=remember,
        metavar="SECONDS",
        help=f"How long to wait for the broker's answer. [default: {DEFAULT_TIMEOUT_S:g}]",
    )(command)


def parse_pair(text: str) -> tuple[str, str]:
    """`name=value` as two strings; the value may hold further equal signs."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise click.BadParameter(f"'{text}' is not NAME=VALUE.")
    return name.strip(), value
