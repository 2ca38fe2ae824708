"""`tidelog plan`: capacity from rate, size, retention, replication, and the cores of a machine."""

from collections.abc import Callable
from dataclasses import asdict
from math import isnan
from typing import Any

import click

from tidelog.base.units import parse_bytes, parse_milliseconds
from tidelog.cli.output import print_json
from tidelog.cli.plan.load import Load
from tidelog.cli.plan.model import plan
from tidelog.cli.plan.shown import show
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
    help="Connections of clients to a broker; a client that uses all partitions has one to each.",
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
    "--cores",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="Cores of a machine: a broker for each, as with `tidelog broker --cores`.",
)
@click.option(
    "--disk",
    callback=_parsed(parse_bytes),
    help="The disk of a machine, such as 2TB; decides the number of machines too.",
)
@click.option(
    "--network",
    type=_AMOUNT,
    default=10.0,
    show_default=True,
    metavar="GBIT",
    help="The network of a machine, in Gbit/s.",
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
    """Say how many machines, disks and partitions a load needs.

    The figures come from measurements of this version on cores of a virtual machine; CPU of your machines
    may differ by half. The plan keeps room for the peak, and for one machine that is away. What was measured
    and what is computed: docs/scaling.md.

    \b
    tidelog plan --rate 50000 --size 1KB
    tidelog plan --rate 200000 --size 300B --retention 3d --groups 4 --disk 2TB --tls
    tidelog plan --rate 2000000 --size 1KB --cores 16 --network 25
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
        print_json(
            {**asdict(found), "brokers": found.brokers, "replicas_per_broker": found.replicas_per_broker}
        )
    else:
        show(found)
