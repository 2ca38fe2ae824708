"""Resolved settings as a read-only mapping with typed accessors: each lookup is one dict access."""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, TypeAlias

from tidelog.base.config.setting import Value

# The accessors are named after the types and hide them inside the class.
_Bool: TypeAlias = bool
_Float: TypeAlias = float
_Int: TypeAlias = int


class ConfigSource(IntEnum):
    """Where a value comes from, strongest first, with the code that DescribeConfigs gives it."""

    DYNAMIC_GROUP_CONFIG = 8
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5


class ConfigValues(Mapping[str, Value]):
    """A KeyError here is a bug of the caller: names from outside are checked before they get this far."""

    __slots__ = ("_values",)

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Value:
        value: Value = self._values[name]
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> _Int:
        return len(self._values)

    def text(self, name: str) -> str:
        value: str = self._values[name]
        return value

    def optional_text(self, name: str) -> str | None:
        value: str | None = self._values[name]
        return value

    def list(self, name: str) -> tuple[str, ...]:
        """Empty where nothing is set."""
        value: tuple[str, ...] | None = self._values[name]
        return value or ()

    def bool(self, name: str) -> _Bool:
        value: _Bool = self._values[name]
        return value

    def float(self, name: str) -> _Float:
        value: _Float = self._values[name]
        return value

    def int(self, name: str) -> _Int:
        value: _Int = self._values[name]
        return value
