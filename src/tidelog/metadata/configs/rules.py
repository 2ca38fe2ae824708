"""Which settings a topic, group, subscription or broker may be given, and the refusals in Kafka's words.

Only what a request changes is judged: a value that an older or newer version stored may be one that
this version cannot read, and must not block changes to other settings.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from tidelog.base.client_metrics_settings import (
    CLIENT_METRICS_SETTINGS,
    INTERVAL_MS_MAX,
    INTERVAL_MS_MIN,
)
from tidelog.base.config.checks import find_topic_problems
from tidelog.base.config.config import BrokerConfig, Problem, TopicConfig
from tidelog.base.config.error import unknown
from tidelog.base.config.group_config import find_group_problems
from tidelog.base.config.setting import Dynamic, Setting, Value, parse
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.group_settings import GROUP_SETTINGS
from tidelog.base.listener_settings import find_broker_setting, why_unknown
from tidelog.base.topic_settings import TOPIC_SETTINGS
from tidelog.metadata.configs import dead_letter_topics

VALUE_LENGTH_MAX = 32_767
"""The longest text of one setting. It bounds what a request can put into the metadata log for good."""

_NAME_SHOWN_MAX = 200


def check_topic_configs(
    topic: str, configs: Mapping[str, str], changed: Collection[str], broker: BrokerConfig
) -> None:
    """`configs` is all that the topic is to have, since some values are only wrong together."""
    _check_known(changed, TOPIC_SETTINGS, "topic config name")
    values = _parse_changed(configs, changed, TOPIC_SETTINGS.get)
    problems = find_topic_problems(TopicConfig(values, broker))
    if problems:
        raise _invalid(f"conflict topic config setting {problems[0]}")
    allowed = dead_letter_topics.GROUP_ENABLE
    if allowed in changed and values.get(allowed) is True:
        reason = dead_letter_topics.why_no_dead_letters_in(topic)
        if reason is not None:
            raise _invalid(reason)


def check_group_configs(configs: Mapping[str, str], changed: Collection[str], broker: BrokerConfig) -> None:
    """`configs` is all that the group is to have; the limits are those of the broker that decides."""
    _check_known(changed, GROUP_SETTINGS, "group config name")
    values = _parse_changed(configs, changed, GROUP_SETTINGS.get)
    problems = find_group_problems(values, changed, broker)
    if problems:
        raise _invalid(str(problems[0]))
    dead_letters = values.get(dead_letter_topics.TOPIC_NAME)
    if dead_letter_topics.TOPIC_NAME in changed and dead_letters:
        prefix = broker.text(dead_letter_topics.NAME_PREFIX)
        reason = dead_letter_topics.why_no_dead_letter_name(str(dead_letters), prefix)
        if reason is not None:
            raise _invalid(reason)


def check_client_metrics_configs(configs: Mapping[str, str], changed: Collection[str]) -> None:
    """`configs` is all that the subscription is to have."""
    for key in sorted(changed):
        if key not in CLIENT_METRICS_SETTINGS:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {key[:_NAME_SHOWN_MAX]}"
            )
    values = _parse_changed(configs, changed, CLIENT_METRICS_SETTINGS.get)
    interval_ms = values.get("interval.ms")
    if "interval.ms" not in changed or not isinstance(interval_ms, int):
        return
    if not INTERVAL_MS_MIN <= interval_ms <= INTERVAL_MS_MAX:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {interval_ms} for interval.ms, interval must be between {INTERVAL_MS_MIN} and "
            f"{INTERVAL_MS_MAX} (1 hour)",
        )


def check_broker_configs(changed: Collection[str], *, of_cluster: bool) -> None:
    """Whether settings of a broker, or of the cluster's default, can change at all."""
    settings: dict[str, Setting] = {}
    for key in sorted(changed):
        setting = find_broker_setting(key)
        if setting is None:
            shown = key[:_NAME_SHOWN_MAX]
            raise _invalid(f"Unknown config name: {shown} ({why_unknown(shown)})")
        settings[key] = setting
    fixed = [key for key, setting in settings.items() if setting.dynamic is Dynamic.READ_ONLY]
    if fixed:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Cannot update these configs dynamically: {', '.join(fixed)}. Set them where the broker is "
            "configured and restart it.",
        )
    plain = [key for key, setting in settings.items() if setting.dynamic is Dynamic.PER_LISTENER]
    if plain:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "These security configs can be dynamically updated only per-listener using the listener prefix: "
            f"{', '.join(plain)}. Use listener.name.<listener>.{plain[0]}, for example.",
        )
    single = [key for key, setting in settings.items() if setting.dynamic is Dynamic.PER_BROKER]
    if of_cluster and single:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "Cannot update these configs at default cluster level, broker id must be specified: "
            + ", ".join(single),
        )


def check_broker_values(configs: Mapping[str, str], changed: Collection[str]) -> None:
    _parse_changed(configs, changed, find_broker_setting)


def check_broker_layers(
    broker: BrokerConfig,
    before: tuple[Mapping[str, str], Mapping[str, str]],
    after: tuple[Mapping[str, str], Mapping[str, str]],
) -> None:
    """Rules between settings, over the (cluster, broker) layers as they are and as they would be."""
    old, new = (_problems(broker, *layers) for layers in (before, after))
    for problem in new:
        if problem not in old:
            raise _invalid(str(problem))


def _problems(config: BrokerConfig, cluster: Mapping[str, str], broker: Mapping[str, str]) -> list[Problem]:
    found: list[Problem] = []
    config.with_dynamic(cluster, broker, on_problem=found.append)
    return found


def _check_known(keys: Iterable[str], settings: Mapping[str, Setting], what: str) -> None:
    for key in keys:
        if key not in settings:
            shown = key[:_NAME_SHOWN_MAX]
            raise _invalid(f"Unknown {what}: {shown} ({unknown(shown, settings)})")


def _parse_changed(
    configs: Mapping[str, str], changed: Collection[str], find: Callable[[str], Setting | None]
) -> dict[str, Value]:
    """All values that can be read; one that cannot is refused if the request brought it."""
    values: dict[str, Value] = {}
    for key, text in configs.items():
        setting = find(key)
        if setting is None:
            continue
        try:
            if len(text) > VALUE_LENGTH_MAX:
                raise ValueError(f"{len(text)} characters, at most {VALUE_LENGTH_MAX} are allowed")
            values[key] = parse(setting, text)
        except ValueError as error:
            if key in changed:
                raise _invalid(_bad_value(setting, text, str(error))) from None
    return values


def _bad_value(setting: Setting, text: str, reason: str) -> str:
    if setting.sensitive:
        return f"Invalid value [hidden] for configuration {setting.name}"
    return f"Invalid value {text[:_NAME_SHOWN_MAX]} for configuration {setting.name}: {reason}"


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, message)
