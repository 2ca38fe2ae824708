"""Where a group shall read on, as a person writes it: `earliest`, a time, `1h` ago, an offset, `+10`.

Parsing is pure (the caller gives the time); `group_plan` turns a target into an offset for each partition.
"""

import re
import time
from dataclasses import dataclass
from enum import Enum
from typing import Any

import click

from tidelog.cli.records.positions import UNIT_SECONDS, Anchor, parse_position

DURATION_MAX_MS = 1000 * 366 * 86_400_000  # a thousand years: beyond is a slip of the hand


class Goal(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"
    CURRENT = "current"
    TIME = "time"
    OFFSET = "offset"
    SHIFT = "shift"


@dataclass(frozen=True, slots=True)
class Target:
    goal: Goal
    number: int = 0  # milliseconds since 1970, an offset, or how far to shift


def parse_time(text: str, now_ms: int) -> int:
    """Milliseconds since 1970 of `2026-11-15T08:00Z`, of an age such as `2h`, or of `@milliseconds`."""
    try:
        position = parse_position(text, now_ms)
    except click.BadParameter:
        position = None
    if position is None or position.anchor is not Anchor.TIME:
        raise click.BadParameter(
            f"'{text}' is not a time: give 2026-11-15T08:00 (local) or 2026-11-15T08:00Z, "
            "an age such as 5m, 2h or 1d, or @milliseconds."
        )
    return max(0, position.number)


# ISO 8601 as other tools take it (P1DT2H30M), and the short form without its P and T (1d2h30m).
_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_SHORT = re.compile(r"(\d+(?:\.\d+)?)(ms|[wdhms])")


def parse_duration(text: str) -> int:
    """Milliseconds of `1h`, `1h30m`, `250ms` or `PT1H30M`."""
    word = text.strip()
    amounts: list[tuple[str, str]] = []
    if iso := _ISO.fullmatch(word.upper()):
        amounts = [
            (amount, unit) for amount, unit in zip(iso.groups(), "wdhms", strict=True) if amount is not None
        ]
    elif word and _SHORT.sub("", word.lower()) == "":
        amounts = _SHORT.findall(word.lower())
    total = sum(float(amount) * _unit_ms(unit) for amount, unit in amounts)
    if not amounts or total > DURATION_MAX_MS:
        raise click.BadParameter(f"'{text}' is not a duration: give 30m, 1h, 1d12h, or PT1H30M.")
    return round(total)


def _unit_ms(unit: str) -> float:
    return 1 if unit == "ms" else UNIT_SECONDS[unit] * 1000


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class TimeType(click.ParamType[int]):
    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else parse_time(str(value), now_ms())
        except click.BadParameter as error:
            self.fail(error.message, param, ctx)


class DurationType(click.ParamType[int]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else parse_duration(str(value))
        except click.BadParameter as error:
            self.fail(error.message, param, ctx)
