"""Where to start and stop reading, as a person writes it: `beginning`, `42`, `-10`, `5m`, `2026-11-15T08:00`.

Parsing is pure (the caller gives the time), so it needs no broker; `spans` turns it into offsets.
"""

import re
import time
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

import click

NUMBER_MAX = 2**63 - 1  # what the protocol can carry
UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class Anchor(Enum):
    BEGINNING = "beginning"
    END = "end"
    OFFSET = "offset"
    LAST = "last"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Position:
    anchor: Anchor
    number: int = 0  # an offset, a count of records from the end, or milliseconds since 1970


def parse_position(text: str, now_ms: int) -> Position:
    try:
        position = _parse(text.strip(), now_ms)
    except (ValueError, OverflowError):  # no time, or one that no clock shows
        position = None
    if position is None or abs(position.number) > NUMBER_MAX:
        raise click.BadParameter(
            f"'{text}' is not a position: give beginning, end, an offset such as 42, -10 for the last ten, "
            "an age such as 5m, 2h or 1d, a time such as 2026-11-15T08:00 or 2026-11-15T08:00Z, "
            "or @milliseconds."
        )
    return position


def _parse(text: str, now_ms: int) -> Position:
    word = text.lower()
    if word in ("beginning", "start", "earliest"):
        return Position(Anchor.BEGINNING)
    if word in ("end", "latest", "now"):
        return Position(Anchor.END)
    if re.fullmatch(r"\d+", word):
        return Position(Anchor.OFFSET, int(word))
    if re.fullmatch(r"-\d+", word):
        return Position(Anchor.LAST, int(word[1:]))
    if re.fullmatch(r"@\d+", word):
        return Position(Anchor.TIME, int(word[1:]))
    if relative := re.fullmatch(r"(\d+(?:\.\d+)?)(ms|[smhdw])", word):
        amount, unit = relative.groups()
        seconds = float(amount) * (0.001 if unit == "ms" else UNIT_SECONDS[unit])
        return Position(Anchor.TIME, now_ms - round(seconds * 1000))
    return Position(Anchor.TIME, round(datetime.fromisoformat(text).timestamp() * 1000))


class PositionType(click.ParamType[Position]):
    name = "position"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Position:
        if isinstance(value, Position):
            return value
        try:
            return parse_position(str(value), time.time_ns() // 1_000_000)
        except click.BadParameter as error:
            self.fail(error.message, param, ctx)
