"""Which brokers and client properties a command uses: its flags, over a context, over the defaults.

Strongest first: -b and -X, --context, TIDELOG_CONTEXT, TIDELOG_BOOTSTRAP_SERVERS, the current context, and
localhost. A context that the command line does not name counts only where no stronger address is given: a
password must not travel to brokers that it was not saved for.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tidelog.base.variables import Unresolved, machine_sources, resolve, with_absolute_files
from tidelog.cli.context.store import SERVERS, SavedContext, contexts_path, read_contexts
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import DEFAULT_SERVERS

CONTEXT_VARIABLE = "TIDELOG_CONTEXT"


class GivenConnection(NamedTuple):
    """What the command line and the environment say."""

    servers: str | None = None
    """By -b."""
    servers_variable: str | None = None
    """By TIDELOG_BOOTSTRAP_SERVERS."""
    context: str | None = None
    """By --context."""
    properties: Mapping[str, str] = {}
    """By -X."""


class ChosenConnection(NamedTuple):
    servers: str
    properties: dict[str, str]
    """Resolved: secrets are in it."""
    written: dict[str, str]
    """The same with variables in their places; their files have absolute paths."""
    context: str | None = None

    def __repr__(self) -> str:
        return f"ChosenConnection({self.servers}, context={self.context})"


def choose(given: GivenConnection, environment: Mapping[str, str] | None = None) -> ChosenConnection:
    """Raises CliError for a context that does not exist, and for a variable without a value."""
    found = os.environ if environment is None else environment
    own_servers = given.properties.get(SERVERS) or given.servers
    path = contexts_path(found)
    name, saved = given.context, SavedContext({})
    if name is None and own_servers is None:
        name = found.get(CONTEXT_VARIABLE) or None
    if name is not None or (own_servers is None and given.servers_variable is None):
        contexts = read_contexts(path)
        name = name or contexts.current
        saved = contexts.of(name) if name is not None else saved
    by_context = _resolved(saved, path, found)
    by_flag = {name: _of_flag(name, value, found) for name, value in given.properties.items()}
    in_order = (
        by_flag.pop(SERVERS, None),
        given.servers,
        by_context.pop(SERVERS, None),
        given.servers_variable,
    )
    of_file = machine_sources(path.parent, found)
    written = {
        **{name: with_absolute_files(value, of_file) for name, value in saved.properties.items()},
        **{name: with_absolute_files(value, machine_sources()) for name, value in given.properties.items()},
    }
    written.pop(SERVERS, None)
    servers = next((servers for servers in in_order if servers), DEFAULT_SERVERS)
    return ChosenConnection(servers, {**by_context, **by_flag}, written, name)


def _resolved(saved: SavedContext, path: Path, environment: Mapping[str, str]) -> dict[str, str]:
    sources = machine_sources(path.parent, environment)
    made = {}
    for name, value in saved.properties.items():
        try:
            made[name] = resolve(value, sources)
        except Unresolved as error:
            line = saved.lines.get(name)
            raise CliError(f"{path}, line {line}, {name}: {error}.", code=Exit.USAGE) from None
    return made


def _of_flag(name: str, value: str, environment: Mapping[str, str]) -> str:
    try:
        return resolve(value, machine_sources(environment=environment))
    except Unresolved as error:
        raise CliError(f"-X {name}: {error}.", code=Exit.USAGE) from None
