"""The limits as people write and read them: `10MiB/s`, `25%`, `20/s`."""

from typing import NamedTuple

import click

from tidelog.base import units
from tidelog.security.quotas.entity import QuotaKey


class Limit(NamedTuple):
    key: QuotaKey
    option: str
    metavar: str
    help: str


LIMITS = (
    Limit(
        QuotaKey.PRODUCER_BYTE_RATE,
        "--producer-bytes",
        "RATE",
        "Bytes of produce requests a second, such as 10MiB/s.",
    ),
    Limit(
        QuotaKey.CONSUMER_BYTE_RATE,
        "--consumer-bytes",
        "RATE",
        "Bytes of fetched records a second, such as 20MiB/s.",
    ),
    Limit(
        QuotaKey.REQUEST_PERCENTAGE,
        "--request-percentage",
        "PERCENT",
        "Time of a broker for all requests, in percent of its event loop.",
    ),
    Limit(
        QuotaKey.CONTROLLER_MUTATION_RATE,
        "--mutations",
        "COUNT",
        "Partitions created and deleted a second.",
    ),
    Limit(
        QuotaKey.CONNECTION_CREATION_RATE,
        "--connections",
        "COUNT",
        "New connections a second, from an address.",
    ),
)
_BYTES = (QuotaKey.PRODUCER_BYTE_RATE, QuotaKey.CONSUMER_BYTE_RATE)


def parse_limit(limit: Limit, text: str) -> float:
    """Raises click.BadParameter with a form that would do."""
    plain = text.strip().lower().removesuffix("/s").strip()
    try:
        if limit.key in _BYTES:
            value = float(plain) if plain.isdecimal() else float(units.parse_bytes(plain))
        else:
            value = float(plain.removesuffix("%"))
    except ValueError as error:
        example = "10MiB/s" if limit.key in _BYTES else "25"
        raise click.BadParameter(f"'{text}' is not a limit such as {example}: {error}.") from error
    if not value > 0:
        raise click.BadParameter(f"'{text}' is not a limit: it must be greater than 0.")
    return value


def limit_text(key: QuotaKey, value: float) -> str:
    if key in _BYTES and value == int(value):
        return f"{units.show_bytes(int(value))}/s"
    number = f"{value:g}"
    return f"{number} %" if key is QuotaKey.REQUEST_PERCENTAGE else f"{number}/s"


def name_of(key: QuotaKey) -> str:
    """As the commands' options call it."""
    return next(limit.option.removeprefix("--") for limit in LIMITS if limit.key is key)
