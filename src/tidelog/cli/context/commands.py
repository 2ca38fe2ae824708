"""`tidelog context`: add, use, list, show, rename and remove named clusters."""

from pathlib import Path

import click

from tidelog.blocking.secret_names import is_secret_name
from tidelog.cli.context.imported import absolute_paths, import_properties
from tidelog.cli.context.secrets import is_variable, without_secrets
from tidelog.cli.context.store import (
    SERVERS,
    Contexts,
    SavedContext,
    changed_contexts,
    contexts_path,
    read_contexts,
)
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.output import note, print_json, print_table, say
from tidelog.cli.session import Session, json_option, parse_pair, pass_session


def _complete_name(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    try:
        names = read_contexts(contexts_path()).by_name
    except CliError:
        return []
    return [name for name in names if name.startswith(incomplete)]


name_argument = click.argument("name", shell_complete=_complete_name)


@click.group(cls=FullHelpGroup)
def context() -> None:
    """Name clusters and their client settings, and choose between them.

    A command uses, strongest first: its flags -b and -X, the context of --context, that of the variable
    TIDELOG_CONTEXT, the variable TIDELOG_BOOTSTRAP_SERVERS, the current context, and localhost:9092. Only
    --context goes together with -b. Values may be ${env:NAME}, ${file:PATH} and ${file:PATH:KEY}.
    """


@context.command("add")
@click.argument("name")
@click.option("-b", "--bootstrap-server", "servers", metavar="HOST:PORT,…", help="Brokers to contact first.")
@click.option(
    "-X",
    "--client-property",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A client property by librdkafka's or Java's name, such as security.protocol=ssl. Repeatable.",
)
@click.option(
    "--from",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Take the properties of a file, such as client.properties.",
)
@click.option("--use", "is_used", is_flag=True, help="Make it the current context.")
@click.option("--replace", "is_replaced", is_flag=True, help="Replace a context of that name.")
@json_option
@pass_session
def add(
    session: Session,
    name: str,
    servers: str | None,
    pairs: tuple[str, ...],
    file: Path | None,
    is_used: bool,
    is_replaced: bool,
) -> None:
    """Save a cluster's address and client settings under a name.

    \b
    tidelog context add prod --from client.properties --use
    tidelog context add prod -b broker-1:9093 -X security.protocol=ssl -X ssl.ca.location=ca.pem
    """
    path = contexts_path()
    made = import_properties(file) if file is not None else None
    properties = dict(made.properties) if made is not None else {}
    properties |= absolute_paths(dict(map(parse_pair, pairs)), Path())
    if servers is not None:
        properties[SERVERS] = servers
    _check(name, properties)
    with changed_contexts(path) as contexts:
        if name in contexts.by_name and not is_replaced:
            raise CliError(
                f"The context '{name}' exists already.",
                attempt="another name, or --replace",
                code=Exit.EXISTS,
            )
        contexts.by_name[name] = SavedContext(dict(sorted(properties.items(), key=_servers_first)))
        if is_used or len(contexts.by_name) == 1:
            contexts.current = name
    ignored = () if made is None else made.ignored
    if session.json:
        print_json(_facts(contexts, name) | {"ignored": list(ignored)})
        return
    current = " It is the current context." if contexts.current == name else ""
    print(f"Context '{name}' saved in {path}.{current}")
    if ignored:
        note(f"Left out, as they are not about the connection: {', '.join(ignored)}.")
    for secret in _plain_secrets(properties):
        note(f"{secret} is in the file as it is; ${{env:NAME}} or ${{file:PATH}} would keep it elsewhere.")


@context.command("use")
@name_argument
@json_option
@pass_session
def use(session: Session, name: str) -> None:
    """Make a context the current one: commands without an address use it."""
    with changed_contexts(contexts_path()) as contexts:
        contexts.of(name)
        contexts.current = name
    if session.json:
        print_json(_facts(contexts, name))
    else:
        print(f"Commands without -b now use '{name}' ({contexts.of(name).properties.get(SERVERS)}).")


@context.command("list")
@json_option
@pass_session
def list_contexts(session: Session) -> None:
    """List the contexts; a star marks the current one."""
    contexts = _read()
    if session.json:
        print_json([_facts(contexts, name) for name in contexts.by_name])
        return
    if not contexts.by_name:
        say("No contexts. Save one with: [bold]tidelog context add NAME -b HOST:PORT[/]")
        return
    rows = [
        (
            f"* {name}" if name == contexts.current else f"  {name}",
            saved.properties.get(SERVERS),
            saved.properties.get("security.protocol", "plaintext").lower(),
            saved.properties.get("sasl.username"),
        )
        for name, saved in contexts.by_name.items()
    ]
    print_table(("  Context", "Brokers", "Protocol", "User"), rows)


@context.command("show")
@click.argument("name", required=False, shell_complete=_complete_name)
@json_option
@pass_session
def show(session: Session, name: str | None) -> None:
    """Show a context, the current one unless named; secrets stay hidden."""
    contexts = _read()
    name = name or contexts.current
    if name is None:
        raise CliError("No context is current.", attempt="tidelog context use NAME", code=Exit.NOT_FOUND)
    saved = contexts.of(name)
    if session.json:
        print_json(_facts(contexts, name))
    else:
        print_table((), list(without_secrets(saved.properties).items()), title=name)


@context.command("rename")
@name_argument
@click.argument("new_name")
@json_option
@pass_session
def rename(session: Session, name: str, new_name: str) -> None:
    """Give a context another name."""
    _check_name(new_name)
    with changed_contexts(contexts_path()) as contexts:
        contexts.of(name)
        if new_name in contexts.by_name:
            raise CliError(
                f"The context '{new_name}' exists already.", attempt="another name", code=Exit.EXISTS
            )
        by_name = contexts.by_name.items()
        contexts.by_name = {new_name if each == name else each: saved for each, saved in by_name}
        if contexts.current == name:
            contexts.current = new_name
    if session.json:
        print_json(_facts(contexts, new_name))
    else:
        print(f"Context '{name}' is now '{new_name}'.")


@context.command("remove")
@name_argument
@json_option
@pass_session
def remove(session: Session, name: str) -> None:
    """Forget a context, with its settings and secrets."""
    with changed_contexts(contexts_path()) as contexts:
        contexts.of(name)
        del contexts.by_name[name]
        if contexts.current == name:
            contexts.current = None
    if session.json:
        print_json({"name": name, "removed": True})
    else:
        print(f"Context '{name}' removed.")


def _read() -> Contexts:
    return read_contexts(contexts_path())


def _facts(contexts: Contexts, name: str) -> dict[str, object]:
    saved = contexts.of(name)
    return {
        "name": name,
        "current": name == contexts.current,
        "properties": without_secrets(saved.properties),
    }


def _plain_secrets(properties: dict[str, str]) -> list[str]:
    return [name for name, value in properties.items() if is_secret_name(name) and not is_variable(value)]


def _servers_first(item: tuple[str, str]) -> tuple[bool, str]:
    return item[0] != SERVERS, item[0]


def _check_name(name: str) -> None:
    if not name or name != name.strip() or not name.isprintable():
        raise CliError(f"{name!r} cannot be the name of a context.", code=Exit.USAGE)


def _check(name: str, properties: dict[str, str]) -> None:
    from tidelog.blocking.errors import SecurityError
    from tidelog.blocking.security_options import check_names
    from tidelog.cli.connection import parse_servers

    _check_name(name)
    if SERVERS not in properties:
        raise CliError("A context needs the address of a broker.", attempt="-b HOST:PORT", code=Exit.USAGE)
    if "${" not in properties[SERVERS]:
        parse_servers(properties[SERVERS])
    try:
        check_names(properties)
    except SecurityError as error:
        raise CliError(f"{error}.", code=Exit.USAGE) from None
