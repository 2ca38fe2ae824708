"""Which settings a topic or a broker may be given, and the refusals in the words Kafka's clients know."""

import difflib
from collections.abc import Iterable, Mapping

from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.setting import Dynamic, Setting, Value, parse
from tidelog.base.topic_settings import TOPIC_SETTINGS

VALUE_LENGTH_MAX = 32_767
"""The longest text of one setting. It bounds what a request can put into the metadata log for good."""


def check_topic_configs(configs: Mapping[str, str]) -> None:
    """All overrides a topic is to have, since some are only wrong together."""
    _check_known(configs, TOPIC_SETTINGS, "topic config name")
    values = _parse_all(configs, TOPIC_SETTINGS)
    least, most = (
        values.get(name, TOPIC_SETTINGS[name].default)
        for name in ("min.compaction.lag.ms", "max.compaction.lag.ms")
    )
    if isinstance(least, int) and isinstance(most, int) and least > most:
        raise _invalid(
            f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
        )


def check_broker_configs(configs: Mapping[str, str], *, touched: Iterable[str], of_cluster: bool) -> None:
    """`touched` are the settings that the request wants to set or delete; the rest stand already."""
    touched = sorted(touched)
    _check_known(touched, BROKER_SETTINGS, "config name")
    fixed = [key for key in touched if BROKER_SETTINGS[key].dynamic is Dynamic.READ_ONLY]
    if fixed:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Cannot update these configs dynamically: {', '.join(fixed)}. Set them where the broker is "
            "configured and restart it.",
        )
    single = [key for key in touched if BROKER_SETTINGS[key].dynamic is Dynamic.PER_BROKER]
    if of_cluster and single:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "Cannot update these configs at default cluster level, broker id must be specified: "
            + ", ".join(single),
        )
    _parse_all({key: configs[key] for key in touched if key in configs}, BROKER_SETTINGS)


def _check_known(keys: Iterable[str], settings: Mapping[str, Setting], what: str) -> None:
    for key in keys:
        if key not in settings:
            near = difflib.get_close_matches(key[:200], settings, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise _invalid(f"Unknown {what}: {key[:200]}{hint}")


def _parse_all(configs: Mapping[str, str], settings: Mapping[str, Setting]) -> dict[str, Value]:
    values = {}
    for key, text in configs.items():
        if len(text) > VALUE_LENGTH_MAX:
            raise _invalid(
                f"Invalid value for configuration {key}: {len(text)} characters, at most {VALUE_LENGTH_MAX} "
                "are allowed"
            )
        try:
            values[key] = parse(settings[key], text)
        except ValueError as error:
            shown = "[hidden]" if settings[key].sensitive else text[:200]
            reason = "the value is not valid" if settings[key].sensitive else str(error)
            raise _invalid(f"Invalid value {shown} for configuration {key}: {reason}") from None
    return values


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, message)
