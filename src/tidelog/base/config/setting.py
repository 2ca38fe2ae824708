"""One setting: its name, type, default, bounds and what it is for; and how its text is read and written.

`parse` takes Kafka's plain form, as the protocol carries it; with `human=True` it also takes what people
write in files and flags (`1 GiB`, `7d`, `yes`, YAML lists). `render` gives Kafka's text form back.
"""

import re
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple, TypeAlias

from tidelog.base import units

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | None
"""A parsed value. None means not set: another setting, or the broker itself, decides."""


class Kind(Enum):
    """The type of a value. ENUM is a string with choices."""

    BOOL = "boolean"
    STRING = "string"
    INT = "int"
    SHORT = "short"
    LONG = "long"
    DOUBLE = "double"
    LIST = "list"
    PASSWORD = "password"
    ENUM = "one of"


TYPE_CODE = {  # what DescribeConfigs calls each type
    Kind.BOOL: 1,
    Kind.STRING: 2,
    Kind.INT: 3,
    Kind.SHORT: 4,
    Kind.LONG: 5,
    Kind.DOUBLE: 6,
    Kind.LIST: 7,
    Kind.PASSWORD: 9,
    Kind.ENUM: 2,
}


class Dynamic(Enum):
    """Whether a broker setting can change while the broker runs, and for whom."""

    READ_ONLY = "read-only"
    PER_LISTENER = "per-broker, behind a listener's name"  # the plain name itself is read-only
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"  # as a default of the cluster, or for one broker


class Scope(Enum):
    """What a broker setting can be given for: see `tidelog.base.listener_settings`."""

    BROKER = "the broker"
    LISTENER = "the broker, or one listener"
    MECHANISM = "the broker, one listener, or one SASL mechanism of a listener"


class Importance(Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Unit(Enum):
    """What a number counts; decides which human forms are read and how documentation shows it."""

    NONE = ""
    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes/s"
    MILLISECONDS = "ms"
    MINUTES = "minutes"
    HOURS = "hours"


MS_PER = {Unit.MILLISECONDS: 1, Unit.MINUTES: 60_000, Unit.HOURS: 3_600_000}


class Setting(NamedTuple):
    name: str
    kind: Kind
    default: Value
    doc: str
    minimum: int | float | None = None
    maximum: int | float | None = None
    choices: tuple[str, ...] = ()
    unit: Unit = Unit.NONE
    dynamic: Dynamic = Dynamic.READ_ONLY
    importance: Importance = Importance.MEDIUM
    special: str = ""
    """What a value outside the usual meaning stands for, such as `-1: no limit`."""
    kafka_default: str | None = None
    """Kafka's default, where ours differs on purpose; None where it is the same."""
    ours: bool = False
    """True where Kafka has no such setting."""
    check: Callable[[Value], str | None] | None = None
    """A rule of its own: the reason why a parsed value is refused, or None."""
    broker_synonyms: tuple[str, ...] = ()
    """Topic settings: the broker settings that stand in when the topic has none, strongest first."""
    scope: Scope = Scope.BROKER

    @property
    def sensitive(self) -> bool:
        return self.kind is Kind.PASSWORD


_WIDTH = {Kind.SHORT: 15, Kind.INT: 31, Kind.LONG: 63}
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False}
_HUMAN_WORDS = _WORDS | {"yes": True, "on": True, "no": False, "off": False}


def parse(setting: Setting, raw: object, *, human: bool = False) -> Value:
    """The value of a setting from what was given for it; ValueError with a reason a person can act on."""
    value = _parse(setting, raw, human)
    _check_bounds(setting, value)
    if setting.check is not None and (reason := setting.check(value)):
        raise ValueError(reason)
    return value


def render(setting: Setting, value: Value) -> str | None:
    """Kafka's text form of a value; None where nothing is set."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if setting.kind is Kind.DOUBLE:
        return _java_double(float(value))
    return str(value)


def in_milliseconds(setting: Setting, value: Value) -> Value:
    """A duration in milliseconds, whatever its setting counts in; -1 keeps its meaning, no limit."""
    factor = MS_PER.get(setting.unit, 1)
    return value if factor == 1 or not isinstance(value, int) or value < 0 else value * factor


def _parse(setting: Setting, raw: object, human: bool) -> Value:
    kind = setting.kind
    if raw is None:
        raise ValueError("null is not a value; delete the setting to go back to its default")
    if kind is Kind.LIST:
        return _list(raw)
    if isinstance(raw, bool):
        raw = "true" if raw else "false"
    if not isinstance(raw, (str, int, float)):
        raise ValueError(f"expected one value, not a {type(raw).__name__}")
    text = str(raw).strip()
    if kind is Kind.BOOL:
        return _bool(text, human)
    if kind in _WIDTH:
        return _whole(setting, text, human)
    if kind is Kind.DOUBLE:
        return _decimal(setting, text, human)
    if kind is Kind.ENUM and text not in setting.choices:
        raise ValueError(f"{text!r} is not one of {', '.join(setting.choices)}")
    return text


def _bool(text: str, human: bool) -> bool:
    value = (_HUMAN_WORDS if human else _WORDS).get(text.lower())
    if value is None:
        raise ValueError(f"{text!r} is neither true nor false")
    return value


def _list(raw: object) -> tuple[str, ...]:
    if isinstance(raw, str):
        return tuple(item.strip() for item in raw.split(",")) if raw.strip() else ()
    if not isinstance(raw, (list, tuple)) or not all(isinstance(item, str) for item in raw):
        raise ValueError("expected a list of strings")
    if any("," in item for item in raw):
        raise ValueError("an item must not contain a comma")
    return tuple(item.strip() for item in raw)


def _whole(setting: Setting, text: str, human: bool) -> int:
    plain = text.replace("_", "") if human else text
    if _WHOLE.fullmatch(plain):
        value = int(plain)
    elif human and setting.unit is Unit.BYTES:
        value = units.parse_bytes(text)
    elif human and setting.unit in MS_PER:
        value, rest = divmod(units.parse_milliseconds(text), MS_PER[setting.unit])
        if rest:
            raise ValueError(f"{text} is not a whole number of {setting.unit.value}")
    else:
        raise ValueError(f"{text!r} is not a whole number")
    limit = 1 << _WIDTH[setting.kind]
    if not -limit <= value < limit:
        raise ValueError(f"{text} does not fit {_WIDTH[setting.kind] + 1} bits")
    return value


def _decimal(setting: Setting, text: str, human: bool) -> float:
    if _DECIMAL.fullmatch(text):
        value = float(text)
    elif human and setting.unit is Unit.BYTES_PER_SECOND:
        value = float(units.parse_bytes(text.lower().removesuffix("/s")))
    else:
        raise ValueError(f"{text!r} is not a number")
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large")
    return value


def _check_bounds(setting: Setting, value: Value) -> None:
    if isinstance(value, tuple):
        if "" in value:
            raise ValueError("an item is empty")
        if len(set(value)) < len(value):
            raise ValueError("an item is named twice")
        wrong = [item for item in value if setting.choices and item not in setting.choices]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is not one of {', '.join(setting.choices)}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if setting.minimum is not None and value < setting.minimum:
            raise ValueError(f"{value} is below {setting.minimum}, the least allowed")
        if setting.maximum is not None and value > setting.maximum:
            raise ValueError(f"{value} is above {setting.maximum}, the most allowed")


def _java_double(value: float) -> str:
    """As Java prints a double, since clients compare texts: plain from 0.001 to 10 million, else 1.0E7."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    for digits in range(1, 18):
        text = format(value, f".{digits}e")
        if float(text) == value:
            break
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}E{int(exponent)}"
