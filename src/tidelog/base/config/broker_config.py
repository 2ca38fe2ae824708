"""A broker's settings, resolved from their layers: this broker's dynamic ones, the cluster's, the static.

Immutable: a change at run time makes a new one (`with_dynamic`); who holds the old one keeps it whole.
"""

from collections.abc import Callable, Mapping

from tidelog.base.broker_settings import BROKER_SETTINGS, BROKER_SYNONYMS
from tidelog.base.config.checks import find_prefix_problems, find_problems, find_warnings
from tidelog.base.config.error import ConfigError, Problem
from tidelog.base.config.setting import Dynamic, Value, in_milliseconds, parse
from tidelog.base.config.values import ConfigSource, ConfigValues
from tidelog.base.listener import Listener, parse_listener
from tidelog.base.listener_settings import LISTENER_PREFIX, find_broker_setting, split_name, why_unknown
from tidelog.base.security_protocol import SecurityProtocol, protocols_of
from tidelog.base.topic_settings import TOPIC_SETTINGS

_DEFAULTS = {name: setting.default for name, setting in BROKER_SETTINGS.items()}

OnProblem = Callable[[Problem], None]


class BrokerConfig(ConfigValues):
    """`config.int("log.retention.ms")` is the effective value, also where minutes or hours decide it."""

    __slots__ = ("_by_listener", "_origins", "layers", "topic_defaults", "warnings")

    def __init__(
        self,
        static: Mapping[str, Value] | None = None,
        *,
        cluster: Mapping[str, Value] | None = None,
        broker: Mapping[str, Value] | None = None,
        origins: Mapping[str, str] | None = None,
    ) -> None:
        """From parsed values; `load` and `with_dynamic` parse and check them."""
        static, cluster, broker = dict(static or {}), dict(cluster or {}), dict(broker or {})
        values = _DEFAULTS | static | cluster | broker
        for name, chain in BROKER_SYNONYMS.items():
            decider = _decider(chain, values)
            values[name] = in_milliseconds(BROKER_SETTINGS[decider], values[decider])
        super().__init__(values)
        self.layers: dict[ConfigSource, dict[str, Value]] = {  # strongest first
            ConfigSource.DYNAMIC_BROKER_CONFIG: broker,
            ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: cluster,
            ConfigSource.STATIC_BROKER_CONFIG: static,
            ConfigSource.DEFAULT_CONFIG: _DEFAULTS,
        }
        self._origins = dict(origins or {})
        self._by_listener: dict[tuple[str, str | None], ConfigValues] = {}
        self.topic_defaults: dict[str, Value] = {
            name: values[setting.broker_synonyms[0]] if setting.broker_synonyms else setting.default
            for name, setting in TOPIC_SETTINGS.items()
        }
        problems = find_problems(self)
        if any(name.startswith(LISTENER_PREFIX) for name in static):
            problems += find_prefix_problems(static, [listener.name for listener in self.listeners()])
        if problems:
            raise ConfigError([found._replace(where=self._origins.get(found.name, "")) for found in problems])
        self.warnings = tuple(find_warnings(self))

    def source(self, name: str) -> ConfigSource:
        """The layer that decides a setting, directly or through its synonyms."""
        decider = self._decider(name)
        return next(source for source, layer in self.layers.items() if decider in layer)

    def origin(self, name: str) -> str:
        """For people: the file and line, variable or flag that a static value came from; else its layer."""
        decider, source = self._decider(name), self.source(name)
        if source is ConfigSource.STATIC_BROKER_CONFIG:
            return self._origins.get(decider, "given at start")
        return source.name.lower().replace("_", " ")

    def is_given(self, name: str) -> bool:
        """Whether a layer above the defaults names this very setting."""
        return any(name in layer for layer in self.layers.values() if layer is not _DEFAULTS)

    def given(self, name: str) -> Value:
        """The value under this very name, before synonyms: None where nothing is set."""
        return next(layer[name] for layer in self.layers.values() if name in layer)

    def for_listener(self, listener: str, mechanism: str | None = None) -> ConfigValues:
        """All settings as they hold for a listener, or for a SASL mechanism of it.

        `config.for_listener("CLIENTS").text("ssl.client.auth")` is the value of
        `listener.name.clients.ssl.client.auth`, and that of `ssl.client.auth` where there is none.
        """
        key = (listener.lower(), None if mechanism is None else mechanism.lower())
        values = self._by_listener.get(key)
        if values is None:
            values = self._by_listener[key] = ConfigValues(self._overlaid(*key))
        return values

    def _overlaid(self, listener: str, mechanism: str | None) -> dict[str, Value]:
        of_listener: dict[str, Value] = {}
        of_mechanism: dict[str, Value] = {}
        for name in self.listener_names():
            parts = split_name(name)
            if parts is None or parts.listener != listener:
                continue
            if parts.mechanism is None:
                of_listener[parts.name] = self[name]
            elif parts.mechanism == mechanism:
                of_mechanism[parts.name] = self[name]
        return {**self, **of_listener, **of_mechanism}

    def listener_names(self) -> list[str]:
        """The settings that are given for single listeners, by their full names."""
        return [name for name in self if name.startswith(LISTENER_PREFIX)]

    def listeners(self) -> tuple[Listener, ...]:
        return tuple(parse_listener(text) for text in self.list("listeners"))

    def inter_broker_listener(self) -> str:
        """The name of the listener that other brokers connect to."""
        name = self.optional_text("inter.broker.listener.name")
        return (
            name or self.optional_text("security.inter.broker.protocol") or self.listeners()[0].name
        ).upper()

    def security_protocols(self) -> dict[str, SecurityProtocol]:
        """By listener name."""
        names = [listener.name for listener in self.listeners()]
        return protocols_of(names, self.list("listener.security.protocol.map"))

    def advertised_listeners(self) -> tuple[Listener, ...]:
        """One for each listener. Port 0 still stands for the port that the listener really gets."""
        advertised = {one.name: one for one in map(parse_listener, self.list("advertised.listeners"))}
        return tuple(advertised.get(listener.name, listener) for listener in self.listeners())

    def with_dynamic(
        self, cluster: Mapping[str, str], broker: Mapping[str, str], *, on_problem: OnProblem | None = None
    ) -> "BrokerConfig":
        """The same static settings under these dynamic ones, which are texts in Kafka's plain form.

        With `on_problem`, a value that cannot stand is reported and left out instead of raising: what was
        stored by another version must not keep a broker from starting.
        """
        static = self.layers[ConfigSource.STATIC_BROKER_CONFIG]
        for_cluster = parse_broker_overrides(cluster, per_broker=False, on_problem=on_problem)
        for_broker = parse_broker_overrides(broker, per_broker=True, on_problem=on_problem)
        try:
            return BrokerConfig(static, cluster=for_cluster, broker=for_broker, origins=self._origins)
        except ConfigError:
            if on_problem is None:
                raise
        config = BrokerConfig(static, origins=self._origins)
        for source, values in (
            (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, for_cluster),
            (ConfigSource.DYNAMIC_BROKER_CONFIG, for_broker),
        ):
            for name, value in values.items():
                try:
                    config = config._plus(source, name, value)
                except ConfigError as error:
                    on_problem(Problem(name, error.problems[0].reason))
        return config

    def _plus(self, source: ConfigSource, name: str, value: Value) -> "BrokerConfig":
        layers = self.layers | {source: self.layers[source] | {name: value}}
        return BrokerConfig(
            layers[ConfigSource.STATIC_BROKER_CONFIG],
            cluster=layers[ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG],
            broker=layers[ConfigSource.DYNAMIC_BROKER_CONFIG],
            origins=self._origins,
        )

    def _decider(self, name: str) -> str:
        chain = BROKER_SYNONYMS.get(name)
        return name if chain is None else _decider(chain, {synonym: self.given(synonym) for synonym in chain})


def _decider(chain: tuple[str, ...], values: Mapping[str, Value]) -> str:
    """The first of several synonyms that has a value; the last one always has."""
    return next(name for name in chain if values[name] is not None)


def parse_broker_overrides(
    texts: Mapping[str, str | None], *, per_broker: bool, on_problem: OnProblem | None = None
) -> dict[str, Value]:
    """Dynamic broker settings in Kafka's plain form; ConfigError with every reason at once."""
    values: dict[str, Value] = {}
    problems: list[Problem] = []
    for name, text in texts.items():
        setting = find_broker_setting(name)
        try:
            if setting is None:
                raise ValueError(why_unknown(name, _broker_name_of(name)))
            if setting.dynamic is Dynamic.PER_LISTENER:
                raise ValueError(f"can change for one listener only: listener.name.<listener>.{name}")
            if setting.dynamic is Dynamic.READ_ONLY:
                raise ValueError("cannot change while the broker runs; set it in its file and restart")
            if setting.dynamic is Dynamic.PER_BROKER and not per_broker:
                raise ValueError("cannot be a default of the cluster; name the broker")
            values[name] = parse(setting, text)
        except ValueError as error:
            problems.append(Problem(name, str(error)))
    if on_problem is not None:
        for problem in problems:
            on_problem(problem)
    elif problems:
        raise ConfigError(problems)
    return values


def _broker_name_of(name: str) -> str | None:
    """The broker setting behind a topic setting's name, which people mix up."""
    topic = TOPIC_SETTINGS.get(name)
    return topic.broker_synonyms[0] if topic and topic.broker_synonyms else None
