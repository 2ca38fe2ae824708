"""Options of a data source: a table of what can be set, and a reading of what was given.

Spark hands options over with their names in lower case, so names are compared that way and told as the table
spells them. Whatever is not in the table is refused, with the nearest name: a misspelt `maxOffsetPerTrigger`
would otherwise read everything at once.
"""

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tidelog.blocking.secret_names import is_secret_name
from tidelog.spark.errors import OptionError


class Kind(Enum):
    TEXT = "text"
    INT = "a whole number"
    BOOL = "true or false"
    JSON = "JSON"
    DURATION = "a duration, such as 500ms, 10s, 15m, 1h"
    """Read as milliseconds."""


@dataclass(frozen=True)
class Option:
    name: str
    doc: str
    kind: Kind = Kind.TEXT
    default: Any = None
    minimum: int | None = None
    choices: tuple[str, ...] = ()

    @property
    def is_secret(self) -> bool:
        return is_secret_name(self.name)


@dataclass(frozen=True)
class OptionTable:
    options: Mapping[str, Option]
    """By name in lower case."""
    refused: Mapping[str, str]
    """Names that are known and cannot be set here, with the reason; also in lower case."""

    @classmethod
    def of(cls, *groups: Iterable[Option], refused: Mapping[str, str] | None = None) -> "OptionTable":
        options = {option.name.lower(): option for group in groups for option in group}
        return cls(options, {name.lower(): reason for name, reason in (refused or {}).items()})

    def read(self, given: Mapping[str, str]) -> "Given":
        """Check all and convert all; the first thing that is wrong raises OptionError."""
        values: dict[str, Any] = {}
        for key, raw in given.items():
            name = self._name(key.lower())
            if name in self.refused:
                raise OptionError(f"option {key} cannot be set: {self.refused[name]}")
            option = self.options.get(name)
            if option is None:
                raise OptionError(f"there is no option {key}{self._nearest(name)}")
            value = _converted(option, str(raw))
            if values.get(name, value) != value:
                raise OptionError(f"option {option.name} is given with and without kafka., and differs")
            values[name] = value
        return Given(self, values)

    def _name(self, name: str) -> str:
        """Kafka's own names work without the prefix too, as in files of client properties."""
        prefixed = f"kafka.{name}"
        return prefixed if name not in self.options and prefixed in {**self.options, **self.refused} else name

    def _nearest(self, name: str) -> str:
        near = difflib.get_close_matches(name, self.options, n=1, cutoff=0.6)
        return (
            f"; did you mean {self.options[near[0]].name}?"
            if near
            else "; see docs/spark.md for those there are"
        )


class Given:
    """The options of one data source: what was given, else the default."""

    def __init__(self, table: OptionTable, values: Mapping[str, Any]) -> None:
        self._table, self._values = table, values

    def __contains__(self, name: str) -> bool:
        """Whether it was given."""
        return name.lower() in self._values

    def __getitem__(self, name: str) -> Any:
        option = self._table.options[name.lower()]
        return self._values.get(name.lower(), option.default)

    def text(self, name: str) -> str | None:
        value = self[name]
        return None if value is None else str(value)

    def required(self, name: str) -> str:
        value = self[name]
        if value is None or value == "":
            raise OptionError(f"option {name} must be set: {self._table.options[name.lower()].doc}")
        return str(value)

    def number(self, name: str) -> int | None:
        value = self[name]
        return None if value is None else int(value)

    def flag(self, name: str) -> bool:
        return bool(self[name])

    def starting_with(self, prefix: str) -> dict[str, str]:
        """What was given under a prefix, without it; names are lower case, as Kafka's own are."""
        found = ((name, value) for name, value in self._values.items() if name.startswith(prefix))
        return {name.removeprefix(prefix): str(value) for name, value in found}


def _converted(option: Option, raw: str) -> Any:
    try:
        value = _CONVERTERS[option.kind](raw.strip() if option.kind is not Kind.TEXT else raw)
    except ValueError as error:
        shown = "" if option.is_secret else f" is {raw!r}, and"
        raise OptionError(f"option {option.name}{shown} must be {option.kind.value}: {error}") from None
    if option.choices:
        matching = [choice for choice in option.choices if choice.lower() == str(value).lower()]
        if not matching:
            raise OptionError(f"option {option.name} is {raw!r}, and must be {' or '.join(option.choices)}")
        return matching[0]
    if option.minimum is not None and value < option.minimum:
        raise OptionError(f"option {option.name} is {raw}, and must be at least {option.minimum}")
    return value


_UNITS_MS = {
    "us": 0.001, "ms": 1, "": 1, "s": 1000, "sec": 1000, "second": 1000, "seconds": 1000,
    "m": 60_000, "min": 60_000, "minute": 60_000, "minutes": 60_000,
    "h": 3_600_000, "hour": 3_600_000, "hours": 3_600_000,
    "d": 86_400_000, "day": 86_400_000, "days": 86_400_000,
}  # fmt: skip


def _duration_ms(raw: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", raw.lower())
    if match is None or match[2] not in _UNITS_MS:
        raise ValueError("no such unit of time")
    return int(int(match[1]) * _UNITS_MS[match[2]])


def _flag(raw: str) -> bool:
    if raw.lower() not in ("true", "false"):
        raise ValueError("neither of them")
    return raw.lower() == "true"


_CONVERTERS: Mapping[Kind, Any] = {
    Kind.TEXT: str,
    Kind.INT: int,
    Kind.BOOL: _flag,
    Kind.JSON: json.loads,  # its error is a ValueError too
    Kind.DURATION: _duration_ms,
}
