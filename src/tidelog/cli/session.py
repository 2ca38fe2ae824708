"""What the global options say: which brokers, JSON or tables, client properties, how long to wait.

The options may stand before or after the command's name; the last one wins. What they leave open comes from
the context in use, which is looked up once a command asks for its brokers.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from tidelog.blocking.brokers import Brokers
    from tidelog.cli.context.chosen import ChosenConnection, GivenConnection

DEFAULT_SERVERS = "localhost:9092"
SERVERS_VARIABLE = "TIDELOG_BOOTSTRAP_SERVERS"
DEFAULT_TIMEOUT_S = 15.0

Command = TypeVar("Command", bound=Callable[..., Any])


class Session:
    def __init__(
        self,
        servers: str | None = None,
        *,
        json: bool = False,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        properties: dict[str, str] | None = None,
    ) -> None:
        self.json = json
        self.timeout_s = timeout_s
        self.given_servers = servers
        self.servers_variable: str | None = None
        """What the environment names, which is weaker than a flag."""
        self.given_context: str | None = None
        self.given_properties: dict[str, str] = dict(properties or {})
        self._chosen: ChosenConnection | None = None
        self._chosen_for: GivenConnection | None = None
        self.clients: list[object] = []
        """librdkafka's clients that were made; the process takes them down when it ends."""
        self.brokers: Brokers | None = None
        """Connections of our own client: opened by the first command that needs them, closed with the
        session."""

    @property
    def servers(self) -> str:
        return self.connection.servers

    @property
    def properties(self) -> dict[str, str]:
        """By librdkafka's or Java's names. Variables are resolved, so secrets are in it."""
        return self.connection.properties

    @property
    def connection(self) -> "ChosenConnection":
        """Raises CliError for a context that does not exist, or a variable without a value."""
        from tidelog.cli.context.chosen import GivenConnection, choose

        given = GivenConnection(
            self.given_servers, self.servers_variable, self.given_context, dict(self.given_properties)
        )
        if self._chosen is None or self._chosen_for != given:
            self._chosen, self._chosen_for = choose(given), given
        return self._chosen

    def with_timeout(self, timeout_s: float) -> "Session":
        """The same brokers and connections with another time limit."""
        made = Session(
            self.given_servers, json=self.json, timeout_s=timeout_s, properties=self.given_properties
        )
        made.servers_variable, made.given_context = self.servers_variable, self.given_context
        made._chosen, made._chosen_for = self.connection, self._chosen_for
        made.clients, made.brokers = self.clients, self.brokers
        return made

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
    for option in reversed((servers_option, context_option, json_option, _properties, _timeout)):
        command = option(command)
    return command


def servers_option(command: Command, envvar: str | None = None) -> Command:
    """`-b`; only the outermost one reads the environment, so that it never outranks a flag."""

    def remember(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
        session = ctx.ensure_object(Session)
        if value and ctx.get_parameter_source(parameter.name or "") is ParameterSource.ENVIRONMENT:
            session.servers_variable = value
        elif value:
            session.given_servers = value

    return click.option(
        "-b",
        "--bootstrap-server",
        expose_value=False,
        callback=remember,
        envvar=envvar,
        metavar="HOST:PORT,…",
        help=f"Brokers to contact first. [default: {DEFAULT_SERVERS}; env: {SERVERS_VARIABLE}]",
    )(command)


def context_option(command: Command) -> Command:
    """`--context`; the environment's variable is weaker, and read where the context is looked up."""

    def remember(ctx: click.Context, _parameter: click.Parameter, value: str | None) -> None:
        if value:
            ctx.ensure_object(Session).given_context = value

    return click.option(
        "--context",
        expose_value=False,
        callback=remember,
        metavar="NAME",
        help="Brokers and client properties saved by `tidelog context add`. [env: TIDELOG_CONTEXT]",
    )(command)


def _properties(command: Command) -> Command:
    def remember(ctx: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> None:
        ctx.ensure_object(Session).given_properties.update(map(parse_pair, values))

    return click.option(
        "-X",
        "--client-property",
        multiple=True,
        expose_value=False,
        callback=remember,
        metavar="NAME=VALUE",
        help="A client property by librdkafka's or Java's name, such as security.protocol=ssl. Repeatable.",
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
