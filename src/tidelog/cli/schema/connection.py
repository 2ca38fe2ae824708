"""Which schema registry a command asks, and its errors for people.

Strongest first: --registry, -X schema.registry.url, the context of --context or TIDELOG_CONTEXT, the variable
TIDELOG_SCHEMA_REGISTRY, the current context, and port 8081 of the brokers. A context that the command line
does not name counts only where no stronger URL is given: a password must not travel to a registry that it
was not saved for.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from tidelog.blocking.registry.properties import URL
from tidelog.cli.context.chosen import CONTEXT_VARIABLE, GivenConnection, choose
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Command, Session, broker_options

if TYPE_CHECKING:
    from tidelog.blocking.registry.client import RegistryClient
    from tidelog.blocking.registry.errors import RegistryRefused
    from tidelog.blocking.registry.options import RegistryOptions

VARIABLE = "TIDELOG_SCHEMA_REGISTRY"
DEFAULT_PORT = 8081
RETRY_S = 3.0
"""As long as a registry takes to move to another broker; a person waits no longer."""


def registry_options(command: Command) -> Command:
    """The options of every command that talks to a registry."""
    return click.option(
        "--registry",
        "registry_url",
        metavar="URL,…",
        help=f"The schema registry. [default: the context's {URL}, or port {DEFAULT_PORT} of the brokers; "
        f"env: {VARIABLE}]",
    )(broker_options(command))


def find_registry(
    session: Session, url: str | None, environment: Mapping[str, str] | None = None
) -> "RegistryOptions | None":
    """Returns None where neither the command, nor the environment, nor a context names a registry."""
    from tidelog.blocking.registry.options import BadRegistryOption, options_of

    found = os.environ if environment is None else environment
    is_context_named = bool(session.given_context or found.get(CONTEXT_VARIABLE))
    by_flags = _by_flags(session)
    wanted = url or by_flags.get(URL)
    properties = by_flags
    if wanted is None and is_context_named:
        properties = session.properties
        wanted = properties.get(URL)
    if wanted is None:
        wanted = found.get(VARIABLE) or None
    if wanted is None:
        properties = session.properties
        wanted = properties.get(URL)
    elif session.given_context:
        properties = session.properties
    if wanted is None:
        return None
    try:
        return for_person(options_of({**properties, URL: wanted}), session)
    except BadRegistryOption as error:
        raise CliError(f"{str(error)[0].upper()}{str(error)[1:]}.", code=Exit.USAGE) from error


def for_person(options: "RegistryOptions", session: Session) -> "RegistryOptions":
    """A person hears at once where nothing listens, and waits no longer than the session says."""
    from dataclasses import replace

    return replace(options, timeout_s=session.timeout_s, retry_s=RETRY_S, waits_for_start=False)


def _by_flags(session: Session) -> dict[str, str]:
    """What -X says, without any context."""
    return choose(
        GivenConnection(session.servers_variable or "-", properties=session.given_properties)
    ).properties


def default_registry(session: Session) -> "RegistryOptions":
    """Port 8081 of the brokers: each broker of Tidelog serves the registry of its cluster there."""
    from tidelog.blocking.registry.options import options_of
    from tidelog.cli.connection import parse_servers

    scheme = "https" if session.properties.get("security.protocol", "").lower().endswith("ssl") else "http"
    hosts = dict.fromkeys(host for host, _ in parse_servers(session.servers))
    urls = ",".join(f"{scheme}://{f'[{host}]' if ':' in host else host}:{DEFAULT_PORT}" for host in hosts)
    return for_person(options_of({**session.properties, URL: urls}), session)


@contextmanager
def registry(session: Session, url: str | None) -> "Iterator[RegistryClient]":
    """A client for the block. What goes wrong with the registry leaves it as a CliError."""
    from tidelog.blocking.registry.client import RegistryClient

    options = find_registry(session, url) or default_registry(session)
    with explained(options), RegistryClient(options) as client:
        yield client


@contextmanager
def explained(options: "RegistryOptions") -> Iterator[None]:
    from tidelog.blocking.errors import SecurityError
    from tidelog.blocking.registry.errors import (
        NotARegistry,
        PackageMissing,
        RegistryRefused,
        RegistryUnavailable,
    )
    from tidelog.registry.parsed import SchemaError

    try:
        yield
    except RegistryRefused as error:
        raise refusal(error) from error
    except RegistryUnavailable as error:
        raise CliError(f"{_sentence(error)}.", attempt=_start(options), code=Exit.UNREACHABLE) from error
    except (NotARegistry, SecurityError) as error:
        raise CliError(f"{_sentence(error)}.", code=Exit.UNREACHABLE) from error
    except PackageMissing as error:
        raise CliError(f"{_sentence(error)}.", attempt="pip install 'tidelog[schemas]'") from error
    except SchemaError as error:
        raise CliError(str(error), code=Exit.REFUSED) from error


def refusal(error: "RegistryRefused") -> CliError:
    message = error.message if error.message.endswith((".", "!", "?")) else f"{error.message}."
    if error.status == 401:
        return CliError(
            f"The schema registry refused the request: {message}",
            cause="it wants a user and password, or does not know these.",
            attempt="-X basic.auth.user.info=USER:PASSWORD; or -X basic.auth.credentials.source=SASL_INHERIT "
            "for the user that the brokers know",
            code=Exit.DENIED,
        )
    if error.is_denied:
        return CliError(f"The schema registry refused the request: {message}", code=Exit.DENIED)
    if error.is_not_found:
        return CliError(message, attempt="tidelog schema list", code=Exit.NOT_FOUND)
    if error.is_other_path:
        return CliError(
            f"The schema registry has nothing at this path: {message}",
            cause="the URL of the registry has a wrong path, or the registry does not have this call.",
            attempt="the URL without a path, such as http://localhost:8081",
            code=Exit.UNREACHABLE,
        )
    code = Exit.FAILED if error.is_incompatible or error.status >= 500 else Exit.REFUSED
    return CliError(f"The schema registry refused the request ({error.code}): {message}", code=code)


def _sentence(error: Exception) -> str:
    text = str(error).rstrip(".")
    return text if text.startswith("http") else text[:1].upper() + text[1:]


def _start(options: "RegistryOptions") -> str:
    is_here = any(url == f"http://localhost:{DEFAULT_PORT}" for url in options.urls)
    return "tidelog up" if is_here else "another URL of the registry"
