"""Settings as DescribeConfigs shows them: value, source, and every synonym that could have decided.

Synonyms come strongest first, so the first one's source is the entry's. A synonym's value is as it was given:
`retention.ms` of 604800000 may stand on `log.retention.hours` of 168.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from tidelog.base.broker_settings import BROKER_SETTINGS, BROKER_SYNONYMS
from tidelog.base.client_metrics_settings import CLIENT_METRICS_SETTINGS, resolve_client_metrics
from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.group_config import resolve_group
from tidelog.base.config.setting import TYPE_CODE, Dynamic, Setting, Value, render
from tidelog.base.config.topic_config import resolve_topic
from tidelog.base.config.values import ConfigSource, ConfigValues
from tidelog.base.group_settings import GROUP_SETTINGS
from tidelog.base.listener_settings import find_broker_setting, split_name
from tidelog.base.topic_settings import TOPIC_SETTINGS

_CHAIN_OF = {name: chain for chain in BROKER_SYNONYMS.values() for name in chain}


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    name: str
    value: str | None
    read_only: bool
    source: ConfigSource
    sensitive: bool
    type_code: int
    doc: str
    synonyms: tuple[Synonym, ...]


def describe_topic(
    overrides: Mapping[str, str], broker: BrokerConfig, names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """All topic settings, or those named; `overrides` are the topic's own, as texts."""
    topic = resolve_topic(overrides, broker)
    return _overridable(
        TOPIC_SETTINGS, topic, topic.overrides, ConfigSource.DYNAMIC_TOPIC_CONFIG, broker, names=names
    )


def describe_group(
    overrides: Mapping[str, str], broker: BrokerConfig, names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """All group settings, or those named, as the group's coordinator obeys them."""
    group = resolve_group(overrides, broker)
    return _overridable(
        GROUP_SETTINGS, group, group.overrides, ConfigSource.DYNAMIC_GROUP_CONFIG, broker, names=names
    )


def describe_client_metrics(
    texts: Mapping[str, str], broker: BrokerConfig, names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """All settings of a client metrics subscription, or those named."""
    return _overridable(
        CLIENT_METRICS_SETTINGS,
        ConfigValues(resolve_client_metrics(texts)),
        texts,
        ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
        broker,
        names=names,
    )


def describe_broker(broker: BrokerConfig, names: Collection[str] | None = None) -> list[ConfigEntry]:
    """All settings of this broker, or those named. One that only its synonyms set has no value of its own."""
    return [
        _entry(
            setting,
            broker.given(setting.name),
            _synonyms(_chain_from(setting.name), broker),
            read_only=setting.dynamic in (Dynamic.READ_ONLY, Dynamic.PER_LISTENER),
        )
        for setting in _named(BROKER_SETTINGS, names)
    ] + [
        _entry(
            setting,
            broker.given(setting.name),
            _listener_synonyms(setting.name, broker),
            read_only=setting.dynamic is Dynamic.READ_ONLY,
        )
        for setting in _named(_of_listeners(broker), names)
    ]


def describe_cluster_defaults(
    broker: BrokerConfig, names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """What was set for all brokers of the cluster: the resource with an empty name."""
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    layer = broker.layers[source]
    return [
        _entry(
            setting,
            layer[setting.name],
            [Synonym(setting.name, _shown(setting, layer[setting.name]), source)],
            read_only=False,
        )
        for setting in _named({**BROKER_SETTINGS, **_of_listeners(broker)}, names)
        if setting.name in layer
    ]


def _overridable(
    table: Mapping[str, Setting],
    resolved: ConfigValues,
    overrides: Collection[str],
    own_source: ConfigSource,
    broker: BrokerConfig,
    *,
    names: Collection[str] | None,
) -> list[ConfigEntry]:
    """Settings of a resource that follow the broker's where it has none of its own."""
    entries = []
    for setting in _named(table, names):
        synonyms = _synonyms(setting.broker_synonyms, broker)
        if setting.name in overrides:
            own = _shown(setting, resolved[setting.name])
            synonyms.insert(0, Synonym(setting.name, own, own_source))
        entries.append(_entry(setting, resolved[setting.name], synonyms, read_only=False))
    return entries


def _named(table: Mapping[str, Setting], names: Collection[str] | None) -> list[Setting]:
    return [setting for name, setting in table.items() if not names or name in names]


def _of_listeners(broker: BrokerConfig) -> dict[str, Setting]:
    """The settings that single listeners are given."""
    found = {name: find_broker_setting(name) for name in broker.listener_names()}
    return {name: setting for name, setting in found.items() if setting is not None}


def _listener_synonyms(name: str, broker: BrokerConfig) -> list[Synonym]:
    """The plain setting stands in for a listener's own, whatever layer either is from."""
    parts = split_name(name)
    plain = [] if parts is None else _synonyms((parts.name,), broker)
    return _synonyms((name,), broker) + plain


def _chain_from(name: str) -> tuple[str, ...]:
    """A setting with the weaker synonyms that stand in for it."""
    chain = _CHAIN_OF.get(name, (name,))
    return chain[chain.index(name) :]


def _synonyms(chain: tuple[str, ...], broker: BrokerConfig) -> list[Synonym]:
    return [
        Synonym(name, _shown(setting, layer[name]), source)
        for source, layer in broker.layers.items()
        for name in chain
        if layer.get(name) is not None and (setting := find_broker_setting(name)) is not None
    ]


def _entry(setting: Setting, value: Value, synonyms: list[Synonym], *, read_only: bool) -> ConfigEntry:
    return ConfigEntry(
        name=setting.name,
        value=_shown(setting, value),
        read_only=read_only,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        sensitive=setting.sensitive,
        type_code=TYPE_CODE[setting.kind],
        doc=setting.doc,
        synonyms=tuple(synonyms),
    )


def _shown(setting: Setting, value: Value) -> str | None:
    return None if setting.sensitive else render(setting, value)
