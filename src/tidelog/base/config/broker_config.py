"""A broker's settings, resolved from their layers: this broker's dynamic ones, the cluster's, the static.

Immutable: a change at run time makes a new one (`with_dynamic`); who holds the old one keeps it whole.
"""

from collections.abc import Callable, Mapping

from tidelog.base.broker_settings import BROKER_SETTINGS, BROKER_SYNONYMS
from tidelog.base.config.checks import find_problems, find_warnings
from tidelog.base.config.error import ConfigError, Problem, unknown
from tidelog.base.config.setting import Dynamic, Value, in_milliseconds, parse
from tidelog.base.config.values import ConfigSource, ConfigValues
from tidelog.base.listener import Listener, parse_listener
from tidelog.base.security_protocol import SecurityProtocol, protocols_of
from tidelog.base.topic_settings import TOPIC_SETTINGS

_DEFAULTS = {name: setting.default for name, setting in BROKER_SETTINGS.items()}

OnProblem = Callable[[Problem], None]


class BrokerConfig(ConfigValues):
    """`config.int("log.retention.ms")` is the effective value, also where minutes or hours decide it."""

    __slots__ = ("_origins", "layers", "topic_defaults", "warnings")

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
        self.topic_defaults: dict[str, Value] = {
            name: values[setting.broker_synonyms[0]] if setting.broker_synonyms else setting.default
            for name, setting in TOPIC_SETTINGS.items()
        }
        problems = find_problems(self)
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

    def listeners(self) -> tuple[Listener, ...]:
        return tuple(parse_listener(text) for text in self.list("listeners"))

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
        setting = BROKER_SETTINGS.get(name)
        try:
            if setting is None:
                raise ValueError(unknown(name, BROKER_SETTINGS, _broker_name_of(name)))
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
