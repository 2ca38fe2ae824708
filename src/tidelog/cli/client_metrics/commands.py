"""`tidelog client-metrics`: list, describe, set and delete subscriptions to clients' own metrics."""

from typing import Any

import click

from tidelog.base import units
from tidelog.base.client_metrics_settings import MATCH_KEYS
from tidelog.cli.client_metrics.calls import KEYS, Settings, change_subscription, read_subscriptions
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.output import print_json, print_table, say
from tidelog.cli.session import Session, broker_options, pass_session

COLUMNS = ("NAME", "INTERVAL", "CLIENTS", "METRICS")


@click.group("client-metrics", cls=FullHelpGroup)
def client_metrics() -> None:
    """Say which clients push which of their own metrics to the brokers.

    The brokers show them on their port for metrics, beside their own.
    """


@client_metrics.command("list")
@broker_options
@pass_session
def list_(session: Session) -> None:
    """List all subscriptions."""
    found = read_subscriptions(DirectCluster(session))
    if session.json:
        print_json([_as_json(name, settings) for name, settings in found.items()])
    elif not found:
        say("There are no client metrics subscriptions: no client pushes its metrics.")
    else:
        print_table(COLUMNS, [_row(name, settings) for name, settings in found.items()])


@client_metrics.command()
@click.argument("name")
@broker_options
@pass_session
def describe(session: Session, name: str) -> None:
    """Show one subscription."""
    settings = _existing(DirectCluster(session), name)
    if session.json:
        print_json(_as_json(name, settings))
    else:
        print_table(COLUMNS, [_row(name, settings)])


def _parse_interval(_ctx: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return int(text) if text.isdecimal() else units.parse_milliseconds(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no interval, such as 30s: {error}") from error


@client_metrics.command("set")
@click.argument("name")
@click.option(
    "--metrics",
    multiple=True,
    metavar="PREFIX",
    help="The beginning of names of metrics, such as org.apache.kafka.consumer.; '*' for all. Repeatable.",
)
@click.option(
    "--interval", metavar="TIME", callback=_parse_interval, help="How often clients push, such as 30s."
)
@click.option(
    "--match",
    multiple=True,
    metavar="KEY=REGEX",
    help=f"Only clients whose KEY matches; all of several must. Keys: {', '.join(MATCH_KEYS)}. Repeatable.",
)
@broker_options
@pass_session
def set_(
    session: Session, name: str, metrics: tuple[str, ...], interval: int | None, match: tuple[str, ...]
) -> None:
    """Create a subscription, or change what is given of it.

    \b
    tidelog client-metrics set latencies --metrics org.apache.kafka.producer.node. --interval 30s
    tidelog client-metrics set orders --metrics '*' --match 'client_id=orders-.*'
    """
    given = {
        "metrics": ",".join(metrics) or None,
        "interval.ms": None if interval is None else str(interval),
        "match": ",".join(match) or None,
    }
    settings = {key: text for key, text in given.items() if text is not None}
    if not settings:
        raise click.UsageError("Give --metrics, --interval or --match.")
    cluster = DirectCluster(session)
    change_subscription(cluster, name, settings)
    if session.json:
        print_json({"name": name, "set": settings})
    else:
        said = ", ".join(f"{key} {text}" for key, text in settings.items())
        say(f"Client metrics subscription {name}: {said}.")


@client_metrics.command()
@click.argument("name")
@broker_options
@pass_session
def delete(session: Session, name: str) -> None:
    """Delete a subscription: its clients stop pushing when they ask next."""
    cluster = DirectCluster(session)
    _existing(cluster, name)
    change_subscription(cluster, name, dict.fromkeys(KEYS))
    if session.json:
        print_json({"name": name, "deleted": True})
    else:
        say(f"Deleted the client metrics subscription {name}.")


def _existing(cluster: DirectCluster, name: str) -> Settings:
    found = read_subscriptions(cluster, [name])
    if name not in found:
        raise CliError(
            f"There is no client metrics subscription {name!r}.",
            attempt="tidelog client-metrics list",
            code=Exit.NOT_FOUND,
        )
    return found[name]


def _row(name: str, settings: Settings) -> tuple[str, ...]:
    interval = settings.get("interval.ms", "")
    return (
        name,
        units.show_milliseconds(int(interval)) if interval.isdecimal() else interval,
        settings.get("match") or "all",
        settings.get("metrics") or "none",
    )


def _as_json(name: str, settings: Settings) -> dict[str, Any]:
    interval = settings.get("interval.ms", "")
    return {
        "name": name,
        "metrics": _items(settings.get("metrics")),
        "interval_ms": int(interval) if interval.isdecimal() else None,
        "match": _items(settings.get("match")),
    }


def _items(text: str | None) -> list[str]:
    return text.split(",") if text else []
