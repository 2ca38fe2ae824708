"""A topic's settings: its own overrides over the broker's values over the defaults."""

from collections.abc import Mapping

from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.checks import find_topic_problems
from tidelog.base.config.error import ConfigError, Problem, unknown
from tidelog.base.config.setting import Value, parse
from tidelog.base.config.values import ConfigSource, ConfigValues
from tidelog.base.topic_settings import TOPIC_SETTINGS

_TOPIC_NAME_OF = {
    synonym: topic.name for topic in TOPIC_SETTINGS.values() for synonym in topic.broker_synonyms
}


class TopicConfig(ConfigValues):
    """Every topic setting under Kafka's name, resolved; `overrides` are the topic's own."""

    __slots__ = ("_broker", "overrides")

    def __init__(self, overrides: Mapping[str, Value], broker: BrokerConfig) -> None:
        super().__init__({**broker.topic_defaults, **overrides})
        self.overrides = dict(overrides)
        self._broker = broker

    def source(self, name: str) -> ConfigSource:
        if name in self.overrides:
            return ConfigSource.DYNAMIC_TOPIC_CONFIG
        synonyms = TOPIC_SETTINGS[name].broker_synonyms
        return self._broker.source(synonyms[0]) if synonyms else ConfigSource.DEFAULT_CONFIG


def resolve_topic(overrides: Mapping[str, str], broker: BrokerConfig) -> TopicConfig:
    """From a topic's stored texts. What another version stored and this one cannot read is left out."""
    values: dict[str, Value] = {}
    for name, text in overrides.items():
        setting = TOPIC_SETTINGS.get(name)
        if setting is not None:
            try:
                values[name] = parse(setting, text)
            except ValueError:
                continue
    return TopicConfig(values, broker)


def topic_setting(name: str, overrides: Mapping[str, str], broker: BrokerConfig) -> Value:
    """One setting of a topic, without resolving all the others: for loops over thousands of topics."""
    if name in overrides:
        try:
            return parse(TOPIC_SETTINGS[name], overrides[name])
        except ValueError:
            pass
    return broker.topic_defaults[name]


def parse_topic_overrides(
    texts: Mapping[str, str | None], broker: BrokerConfig | None = None
) -> dict[str, Value]:
    """The overrides that a client sets for a topic, in Kafka's plain form.

    All of a topic's overrides belong together: some rules hold between them. ConfigError names every reason.
    """
    values: dict[str, Value] = {}
    problems: list[Problem] = []
    for name, text in texts.items():
        setting = TOPIC_SETTINGS.get(name)
        try:
            if setting is None:
                raise ValueError(unknown(name, TOPIC_SETTINGS, _topic_name_of(name)))
            values[name] = parse(setting, text)
        except ValueError as error:
            problems.append(Problem(name, str(error)))
    if not problems:
        problems = find_topic_problems(TopicConfig(values, broker or BrokerConfig()))
    if problems:
        raise ConfigError(problems)
    return values


def _topic_name_of(name: str) -> str | None:
    """The topic setting behind a broker setting's name, which people mix up."""
    return _TOPIC_NAME_OF.get(name) if name in BROKER_SETTINGS else None
