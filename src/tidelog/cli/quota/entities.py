"""The entity of a quota: a user, a client id, both together, or an address; by name, or as the default."""

from collections.abc import Callable

import click

from tidelog.cli.session import Command
from tidelog.security.quotas.entity import ABSENT, DEFAULT, Absent, Name, QuotaEntity

DEFAULTS = {"users": "user", "client-ids": "client-id", "ips": "ip"}


def entity_options(default: bool = True) -> Callable[[Command], Command]:
    """The options `--user`, `--client-id` and `--ip`, and `--default` where there may be one."""

    def add(command: Command) -> Command:
        options = [
            click.option("--user", metavar="NAME", help="A user, such as alice for User:alice."),
            click.option("--client-id", metavar="NAME", help="A client id, as clients give it."),
            click.option("--ip", metavar="ADDRESS", help="An address that clients come from."),
        ]
        if default:
            options.append(
                click.option(
                    "--default",
                    "defaults",
                    multiple=True,
                    type=click.Choice(list(DEFAULTS)),
                    help="Each user, client id or address without a quota of its own. Repeatable.",
                )
            )
        for option in reversed(options):
            command = option(command)
        return command

    return add


def entity_of(
    user: str | None, client_id: str | None, ip: str | None, defaults: tuple[str, ...]
) -> QuotaEntity:
    """Raises click.UsageError where the options name nothing, or too much."""
    names: dict[str, Name] = {DEFAULTS[kind]: DEFAULT for kind in defaults}
    for kind, name in (("user", user), ("client-id", client_id), ("ip", ip)):
        if name is None:
            continue
        if kind in names:
            raise click.UsageError(f"Give --{kind} or --default, not both, for the same kind.")
        names[kind] = name
    if not names:
        raise click.UsageError("Name the entity of the quota: --user, --client-id, --ip or --default.")
    if "ip" in names and len(names) > 1:
        raise click.UsageError("A quota is for users and client ids, or for an address, not for both.")
    return QuotaEntity(names.get("user", ABSENT), names.get("client-id", ABSENT), names.get("ip", ABSENT))


def entity_names(entity: QuotaEntity) -> dict[str, str | None]:
    """By Kafka's names of the kinds; None is the default."""
    named = {"user": entity.user, "client-id": entity.client_id, "ip": entity.ip}
    return {kind: name for kind, name in named.items() if not isinstance(name, Absent)}


def entity_text(entity: QuotaEntity) -> str:
    """`user alice, client id etl`, or `user (default)`."""
    return ", ".join(
        f"{kind.replace('-', ' ')} {'(default)' if name is None else name}"
        for kind, name in entity_names(entity).items()
    )
