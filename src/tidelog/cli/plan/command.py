"""`tidelog plan`: capacity from rate, size, retention and replication."""

from collections.abc import Callable
from dataclasses import asdict
from math import isnan
from typing import Any

import click

from tidelog.base.units import parse_bytes, parse_milliseconds
from tidelog.cli.output import print_json, print_table, say
from tidelog.cli.plan.model import FULL_MAX, TAIL_SECONDS, Load, Plan, plan
from tidelog.cli.session import Session, json_option, pass_session

DURATION_MAX_MS = 1000 * 365 * 86_400_000


def _parsed(
    parse: Callable[[str], int],
) -> Callable[[click.Context, click.Parameter, str | None], int | None]:
    def convert(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
        if text is None:
            return None
        try:
            value = int(text) if text.isdigit() else parse(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        if value <= 0:
            raise click.BadParameter("it must be more than 0")
        return value

    return convert


def _retention(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    value = _parsed(parse_milliseconds)(context, parameter, text)
    if value is not None and value > DURATION_MAX_MS:
        raise click.BadParameter("more than a thousand years")
    return value


class Amount(click.FloatRange):
    """A number, which "nan" is not, though no limit keeps it out."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value!r} is no number", param, ctx)
        return number


_AMOUNT = Amount(0, min_open=True, max=1e15)


@click.command("plan")
@click.option("--rate", type=_AMOUNT, required=True, help="Messages a second, on average.")
@click.option("--size", callback=_parsed(parse_bytes), required=True, help="Bytes of a message, such as 1KB.")
@click.option(
    "--retention", callback=_retention, default="7d", show_default=True, help="How long records stay."
)
@click.option(
    "--replication", type=click.IntRange(1, 10), default=3, show_default=True, help="Replicas of a partition."
)
@click.option(
    "--groups",
    type=click.IntRange(0, 10_000),
    default=1,
    show_default=True,
    help="Groups that each read everything.",
)
@click.option(
    "--members",
    type=click.IntRange(1, 100_000),
    default=1,
    show_default=True,
    help="Consumers in the largest group, which each need a partition.",
)
@click.option(
    "--connections",
    type=click.IntRange(0, 10_000_000),
    default=100,
    show_default=True,
    help="Connections of clients to a broker.",
)
@click.option(
    "--peak",
    type=Amount(1, 1000),
    default=2.0,
    show_default=True,
    help="The highest rate, as a multiple of the average.",
)
@click.option(
    "--compression",
    type=Amount(0.1, 1000),
    default=1.0,
    show_default=True,
    help="How much smaller producers' compression makes records.",
)
@click.option(
    "--batch",
    callback=_parsed(parse_bytes),
    default="16KiB",
    show_default=True,
    help="Bytes that producers send in a request; small ones cost more.",
)
@click.option(
    "--partitions", type=click.IntRange(1, 10_000_000), help="Partitions, where the number is given."
)
@click.option(
    "--durability",
    type=click.Choice(["fsync", "os"]),
    default="fsync",
    show_default=True,
    help="As the broker's setting.",
)
@click.option("--tls", is_flag=True, help="Clients and brokers speak TLS.")
@click.option(
    "--disk",
    callback=_parsed(parse_bytes),
    help="The disk of a broker, such as 2TB; decides the number of brokers too.",
)
@click.option(
    "--network",
    type=_AMOUNT,
    default=10.0,
    show_default=True,
    metavar="GBIT",
    help="The network of a broker, in Gbit/s.",
)
@json_option
@pass_session
def plan_command(
    session: Session,
    /,
    rate: float,
    size: int,
    retention: int,
    batch: int,
    disk: int | None,
    network: float,
    **rest: Any,
) -> None:
    """Say how many brokers, disks and partitions a load needs.

    The figures come from measurements of this version on cores of a virtual machine; CPU of your machines
    may differ by half. The plan keeps room for the peak, and for one broker that is away.

    \b
    tidelog plan --rate 50000 --size 1KB
    tidelog plan --rate 200000 --size 300B --retention 3d --groups 4 --disk 2TB --tls
    """
    load = Load(
        messages_per_second=rate,
        message_bytes=size,
        retention_s=retention / 1000,
        batch_bytes=batch,
        disk_bytes=disk,
        network_bytes_per_second=network * 1e9 / 8,
        **rest,
    )
    found = plan(load)
    if session.json:
        print_json({**asdict(found), "replicas_per_broker": found.replicas_per_broker})
    else:
        _show(found)


def _show(found: Plan) -> None:
    load, written = found.load, found.written_per_second
    say(
        f"[bold]{_count(found.brokers, 'broker')}[/], {_count(found.partitions, 'partition')} with "
        f"{_count(load.replication, 'replica')} each; {_because(found)}."
    )
    traffic = f"{_size(found.network_in)}/s in, {_size(found.network_out)}/s out"
    print_table(
        ("", ""),
        [
            ("producers send", f"{_size(written)}/s, {_size(written * load.peak)}/s at the peak"),
            ("all replicas hold", f"{_size(found.stored_bytes)} at the end of the retention"),
            ("disk of a broker", f"{_size(found.disk_bytes)}, then {FULL_MAX:.0%} full"),
            ("network of a broker", f"{traffic}, at the peak with one broker away"),
            ("memory of a broker", f"{_size(found.memory_bytes)}; keeps the newest {TAIL_SECONDS} s cached"),
            ("replicas on a broker", found.replicas_per_broker),
        ],
    )
    print_table(
        ("resource", ">brokers", "why"),
        [(need.resource, f"{need.brokers:.2f}", need.detail) for need in found.needs],
    )
    say("Settings:")
    for name, value in settings_of(found).items():
        print(f"  {name}={value}")


def settings_of(found: Plan) -> dict[str, object]:
    """What this plan takes for granted, as settings of the brokers."""
    load = found.load
    return {
        "default.replication.factor": load.replication,
        "min.insync.replicas": max(1, load.replication - 1),
        "num.partitions": found.partitions,
        "log.retention.ms": int(load.retention_s * 1000),
        "durability": load.durability,
    }


def _because(found: Plan) -> str:
    if found.limit == "replication":
        return "as many brokers as replicas, which is enough"
    spare = max(need.spare for need in found.needs if need.resource == found.limit)
    return f"the limit is {found.limit}" + (", with one broker to spare" if spare else "")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _size(count: float) -> str:
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:,.1f} {unit}"
    return f"{count:,.0f} B"
