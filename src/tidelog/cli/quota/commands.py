"""`tidelog quota`: set, list and remove limits."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.output import print_json, print_table, say
from tidelog.cli.quota.calls import change_quota, read_quotas
from tidelog.cli.quota.entities import entity_names, entity_of, entity_options, entity_text
from tidelog.cli.quota.in_force import in_force
from tidelog.cli.quota.limits import LIMITS, Limit, limit_text, name_of, parse_limit
from tidelog.cli.session import Command, Session, broker_options, pass_session
from tidelog.security.quotas.entity import QuotaEntity, QuotaKey, Quotas


@click.group(cls=FullHelpGroup)
def quota() -> None:
    """Limit what users, client ids and addresses may take."""


def limit_options(make: Callable[[Limit], Callable[[Command], Command]]) -> Callable[[Command], Command]:
    def add(command: Command) -> Command:
        for limit in reversed(LIMITS):
            command = make(limit)(command)
        return command

    return add


def _value_option(limit: Limit) -> Callable[[Command], Command]:
    def parse(_ctx: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
        return None if text is None else parse_limit(limit, text)

    return click.option(limit.option, limit.key.value, metavar=limit.metavar, callback=parse, help=limit.help)


def _flag(limit: Limit) -> Callable[[Command], Command]:
    return click.option(limit.option, limit.key.value, is_flag=True, help="Remove this limit alone.")


@quota.command("set")
@entity_options()
@limit_options(_value_option)
@broker_options
@pass_session
def set_(
    session: Session,
    /,
    user: str | None,
    client_id: str | None,
    ip: str | None,
    defaults: tuple[str, ...],
    **values: float | None,
) -> None:
    """Set limits; each holds on every broker by itself, from the next request on.

    \b
    tidelog quota set --user alice --producer-bytes 10MiB/s --consumer-bytes 20MiB/s
    tidelog quota set --user alice --client-id etl --producer-bytes 2MiB/s
    tidelog quota set --default users --request-percentage 25
    tidelog quota set --ip 192.0.2.1 --connections 20
    """
    entity = entity_of(user, client_id, ip, defaults)
    limits = {QuotaKey(key): value for key, value in values.items() if value is not None}
    if not limits:
        raise click.UsageError(f"Give a limit: {', '.join(limit.option for limit in LIMITS)}.")
    change_quota(DirectCluster(session), entity, limits)
    if session.json:
        print_json(_as_json(entity, limits))
    else:
        said = ", ".join(f"{name_of(key)} {limit_text(key, value)}" for key, value in limits.items())
        say(f"Quota of {entity_text(entity)}: {said}.")


@quota.command("remove")
@entity_options()
@limit_options(_flag)
@broker_options
@pass_session
def remove(
    session: Session,
    /,
    user: str | None,
    client_id: str | None,
    ip: str | None,
    defaults: tuple[str, ...],
    **chosen: bool,
) -> None:
    """Remove all limits of an entity, or those that are named.

    \b
    tidelog quota remove --user alice
    tidelog quota remove --user alice --producer-bytes
    """
    entity = entity_of(user, client_id, ip, defaults)
    cluster = DirectCluster(session)
    known = read_quotas(cluster).get(entity, {})
    wanted = [QuotaKey(key) for key, is_set in chosen.items() if is_set] or list(known)
    gone = [key for key in wanted if key in known]
    if not gone:
        raise CliError(
            f"There is no such quota of {entity_text(entity)}.",
            attempt="tidelog quota list",
            code=Exit.NOT_FOUND,
        )
    change_quota(cluster, entity, dict.fromkeys(gone))
    if session.json:
        print_json(_as_json(entity, dict.fromkeys(gone)))
    else:
        say(f"Removed the quota of {entity_text(entity)}: {', '.join(map(name_of, gone))}.")


@quota.command("list")
@entity_options(default=False)
@broker_options
@pass_session
def list_(session: Session, user: str | None, client_id: str | None, ip: str | None) -> None:
    """List all quotas; with --user, --client-id or --ip what is in force for such a client.

    \b
    tidelog quota list
    tidelog quota list --user alice --client-id etl
    """
    quotas = read_quotas(DirectCluster(session))
    if user is None and client_id is None and ip is None:
        _print_all(session, quotas)
        return
    rows = in_force(quotas, user, client_id, ip)
    if session.json:
        print_json(
            {
                row.key.value: None
                if row.limit is None or row.entity is None
                else {"limit": row.limit, "set_for": entity_names(row.entity), "shared_by": row.shared_by}
                for row in rows
            }
        )
        return
    print_table(
        ("LIMIT", "IN FORCE", "SET FOR", "SHARED BY"),
        [
            (name_of(row.key), limit_text(row.key, row.limit), entity_text(row.entity), row.shared_by)
            if row.limit is not None and row.entity is not None
            else (name_of(row.key), "unlimited", None, None)
            for row in rows
        ],
    )


def _print_all(session: Session, quotas: Quotas) -> None:
    if session.json:
        print_json([_as_json(entity, limits) for entity, limits in quotas.items()])
        return
    if not quotas:
        say("There are no quotas.")
        return
    print_table(
        ("SET FOR", "LIMIT", "VALUE"),
        [
            (entity_text(entity), name_of(key), limit_text(key, value))
            for entity, limits in sorted(quotas.items(), key=lambda item: entity_text(item[0]))
            for key, value in limits.items()
        ],
    )


def _as_json(entity: QuotaEntity, limits: Mapping[QuotaKey, Any]) -> dict[str, Any]:
    return {"entity": entity_names(entity), "limits": {key.value: value for key, value in limits.items()}}
