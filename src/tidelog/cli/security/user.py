"""`tidelog security user`: users with passwords, in the cluster's metadata."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.output import print_json, print_table
from tidelog.cli.security.credentials import ITERATIONS, delete_user, list_users, set_password
from tidelog.cli.security.passwords import password_options, read_password
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.security.sasl.scram_credential import ITERATIONS_MAX, ITERATIONS_MIN, ScramMechanism

Command = TypeVar("Command", bound=Callable[..., Any])

mechanism_option = click.option(
    "--mechanism",
    "mechanisms",
    multiple=True,
    type=click.Choice([mechanism.mechanism_name for mechanism in ScramMechanism], case_sensitive=False),
    help="Only for this mechanism. Repeatable. [default: all]",
)
iterations_option = click.option(
    "--iterations",
    type=click.IntRange(ITERATIONS_MIN, ITERATIONS_MAX),
    default=ITERATIONS,
    metavar="N",
    help=f"The rounds of hashing: more make guessing slower, and each login. [default: {ITERATIONS}]",
)


@click.group(cls=FullHelpGroup)
def user() -> None:
    """Add, change, delete and list users with passwords."""


def credential_options(command: Command) -> Command:
    for option in (broker_options, iterations_option, mechanism_option, password_options):
        command = option(command)
    return command


@user.command()
@click.argument("name")
@credential_options
@pass_session
def add(session: Session, /, name: str, **given: Any) -> None:
    """Add a user; SCRAM and PLAIN accept the password from then on.

    The password comes from a prompt, a file or the environment, never from the command line. A new user may
    do nothing until ACLs or roles allow it.

    \b
    tidelog security user add alice
    tidelog security user add reports --password-file /run/secrets/reports
    """
    cluster = DirectCluster(session)
    if list_users(cluster, [name]):
        raise CliError(
            f"There is a user '{name}' already.",
            attempt=f"tidelog security user passwd {name}, to change the password",
            code=Exit.EXISTS,
        )
    _set(cluster, name, "added", **given)


@user.command()
@click.argument("name")
@credential_options
@pass_session
def passwd(session: Session, /, name: str, **given: Any) -> None:
    """Change the password of a user.

    Connections that are open stay open; new ones need the new password.

    \b
    tidelog security user passwd alice
    """
    cluster = DirectCluster(session)
    _existing(cluster, name)
    _set(cluster, name, "changed", **given)


@user.command()
@click.argument("name")
@broker_options
@pass_session
def delete(session: Session, name: str) -> None:
    """Delete a user: no new connection can log in with the name.

    ACLs and roles of the user stay; delete them too if the name will not come back.
    """
    cluster = DirectCluster(session)
    mechanisms = [ScramMechanism.by_name(text) for text in _existing(cluster, name)]
    delete_user(cluster, name, filter(None, mechanisms))
    _tell(session, name, None, "deleted")


@user.command("list")
@broker_options
@pass_session
def list_command(session: Session) -> None:
    """List users with their mechanisms."""
    users = list_users(DirectCluster(session))
    if session.json:
        print_json([{"user": user.name, "iterations": user.iterations} for user in users])
    elif not users:
        print("There are no users with passwords.")
    else:
        print_table(
            ("User", "Mechanism", ">Iterations"),
            [(user.name, name, rounds) for user in users for name, rounds in sorted(user.iterations.items())],
        )


def _set(
    cluster: DirectCluster,
    name: str,
    what: str,
    *,
    password_file: str | None,
    password_env: str | None,
    generate: bool,
    mechanisms: tuple[str, ...],
    iterations: int,
) -> None:
    password = read_password(name, password_file, password_env, generate)
    set_password(cluster, name, password, _chosen(mechanisms), iterations)
    _tell(cluster.session, name, password if generate else None, what)


def _existing(cluster: DirectCluster, name: str) -> list[str]:
    """The mechanisms of a user; NOT_FOUND where there is none."""
    found = list_users(cluster, [name])
    if not found:
        raise CliError(
            f"There is no user '{name}'.", attempt="tidelog security user list", code=Exit.NOT_FOUND
        )
    return list(found[0].iterations)


def _chosen(names: tuple[str, ...]) -> list[ScramMechanism]:
    chosen = [ScramMechanism.by_name(name.upper()) for name in names]
    return [mechanism for mechanism in chosen if mechanism is not None] or list(ScramMechanism)


def _tell(session: Session, name: str, generated: str | None, what: str) -> None:
    if session.json:
        print_json({"user": name, what: True} | ({"password": generated} if generated else {}))
        return
    print(f"User '{name}' {what}.")
    if generated:
        print(f"Password: {generated}")
        print("It is not stored anywhere, and not shown again.")
