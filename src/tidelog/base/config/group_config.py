"""A group's settings: its own overrides, within the broker's limits, over the broker's values."""

from collections.abc import Collection, Iterator, Mapping

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.error import Problem
from tidelog.base.config.setting import Value, parse
from tidelog.base.config.values import ConfigValues
from tidelog.base.group_settings import GROUP_LIMITS, GROUP_SETTINGS, GROUP_TIMINGS


class GroupConfig(ConfigValues):
    """Every group setting under Kafka's name, resolved; `overrides` are the group's own."""

    __slots__ = ("overrides",)

    def __init__(self, overrides: Mapping[str, Value], broker: BrokerConfig) -> None:
        super().__init__({**_inherited(broker), **overrides})
        self.overrides = dict(overrides)


class GroupConfigs:
    """The settings of every group: `configs.of("my-group").int("consumer.session.timeout.ms")`."""

    __slots__ = ("_broker", "_default", "_resolved", "_texts")

    def __init__(self, broker: BrokerConfig, texts: Mapping[str, Mapping[str, str]] | None = None) -> None:
        """`texts` are the overrides as they are stored, by group."""
        self._broker = broker
        self._texts = texts or {}
        self._default = GroupConfig({}, broker)
        self._resolved: dict[str, GroupConfig] = {}

    def of(self, group_id: str) -> GroupConfig:
        texts = self._texts.get(group_id)
        if texts is None:
            return self._default
        config = self._resolved.get(group_id)
        if config is None:
            config = self._resolved[group_id] = resolve_group(texts, self._broker)
        return config


def resolve_group(texts: Mapping[str, str], broker: BrokerConfig) -> GroupConfig:
    """From a group's stored texts. A value beyond a limit, which may have moved, counts as the limit."""
    values: dict[str, Value] = {}
    for name, text in texts.items():
        setting = GROUP_SETTINGS.get(name)
        if setting is None:
            continue
        try:
            values[name] = _clamped(name, parse(setting, text), broker)
        except ValueError:
            continue
    config = GroupConfig(values, broker)
    for timing in GROUP_TIMINGS:
        if config.int(timing.session) <= config.int(timing.heartbeat):
            # Members would count as dead between two heartbeats: both follow the broker.
            config = GroupConfig({k: v for k, v in config.overrides.items() if k not in timing}, broker)
    return config


def find_group_problems(
    values: Mapping[str, Value], changed: Collection[str], broker: BrokerConfig
) -> list[Problem]:
    """What is wrong with a group's overrides: with the changed ones alone, and with all of them together."""
    return [*_beyond_limits(values, changed, broker), *_too_quick(GroupConfig(values, broker))]


def _beyond_limits(
    values: Mapping[str, Value], changed: Collection[str], broker: BrokerConfig
) -> Iterator[Problem]:
    for name, limits in GROUP_LIMITS.items():
        value = values.get(name)
        if name not in changed or not isinstance(value, int):
            continue
        if limits.least is not None and value < broker.int(limits.least):
            least = broker.int(limits.least)
            yield Problem(name, f"{value} must be greater than or equal to {limits.least}, which is {least}")
        if limits.most is not None and value > broker.int(limits.most):
            yield Problem(
                name,
                f"{value} must be less than or equal to {limits.most}, which is {broker.int(limits.most)}",
            )


def _too_quick(config: GroupConfig) -> Iterator[Problem]:
    for session, heartbeat in GROUP_TIMINGS:
        if config.int(session) <= config.int(heartbeat):
            yield Problem(
                session,
                f"{config.int(session)} must be greater than {heartbeat}, which is {config.int(heartbeat)}",
            )


def _clamped(name: str, value: Value, broker: BrokerConfig) -> Value:
    limits = GROUP_LIMITS.get(name)
    if limits is None or not isinstance(value, int):
        return value
    if limits.least is not None:
        value = max(value, broker.int(limits.least))
    return value if limits.most is None else min(value, broker.int(limits.most))


def _inherited(broker: BrokerConfig) -> dict[str, Value]:
    return {
        name: broker[setting.broker_synonyms[0]] if setting.broker_synonyms else setting.default
        for name, setting in GROUP_SETTINGS.items()
    }
