"""The settings of a client metrics subscription (KIP-714): which clients push which metrics, how often.

A subscription exists from its first setting to its last. Read one with `ClientMetricsConfig.of(texts)`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from tidelog.base.config.setting import Dynamic, Kind, Setting, Unit, Value, parse

if TYPE_CHECKING:
    from tidelog.base.patterns.pattern import Pattern

INTERVAL_MS_DEFAULT = 300_000
INTERVAL_MS_MIN, INTERVAL_MS_MAX = 100, 3_600_000
ALL_METRICS = "*"
MATCH_KEYS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def parse_match(pairs: Value) -> "dict[str, Pattern]":
    """`client_id=orders-.*` and so on, by key. ValueError, with the reason, for what is no such pair."""
    patterns: dict[str, Pattern] = {}
    if not pairs:
        return patterns
    from tidelog.base.patterns.pattern import compiled  # brokers without subscriptions start without it

    for pair in pairs if isinstance(pairs, tuple) else ():
        key, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or not text or "=" in text or key not in MATCH_KEYS:
            raise ValueError(f"{pair!r} is not KEY=EXPRESSION with a key of {', '.join(MATCH_KEYS)}")
        try:
            patterns[key] = compiled(text)
        except ValueError as error:
            raise ValueError(f"{pair!r} is not a regular expression of RE2: {error}") from error
    return patterns


def _check_match(value: Value) -> str | None:
    try:
        parse_match(value)
    except ValueError as error:
        return f"Illegal client matching pattern: {error}"
    return None


CLIENT_METRICS_SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting(
            "metrics",
            Kind.LIST,
            (),
            "The beginnings of the names of metrics that clients push, such as "
            "`org.apache.kafka.producer.node.`, separated by commas. `*` is all metrics; an empty list none.",
            dynamic=Dynamic.CLUSTER_WIDE,
        ),
        Setting(
            "interval.ms",
            Kind.INT,
            INTERVAL_MS_DEFAULT,
            "How often clients push. A client with several subscriptions pushes at the shortest interval.",
            unit=Unit.MILLISECONDS,
            dynamic=Dynamic.CLUSTER_WIDE,
            special=f"{INTERVAL_MS_MIN} to {INTERVAL_MS_MAX} (1 hour)",
        ),
        Setting(
            "match",
            Kind.LIST,
            (),
            "Which clients push: pairs of a key and a regular expression for its whole value, separated by "
            "commas, all of which must match. Without it every client pushes.",
            dynamic=Dynamic.CLUSTER_WIDE,
            check=_check_match,
            special="keys: " + ", ".join(f"`{key}`" for key in MATCH_KEYS),
        ),
    )
}


class ClientMetricsConfig(NamedTuple):
    metrics: tuple[str, ...]
    interval_ms: int
    match: "Mapping[str, Pattern]"

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> "ClientMetricsConfig":
        """From the stored texts; one that this version cannot read counts as not set."""
        values = resolve_client_metrics(texts)
        metrics, interval_ms = values["metrics"], values["interval.ms"]
        return cls(
            metrics if isinstance(metrics, tuple) else (),
            interval_ms if isinstance(interval_ms, int) else INTERVAL_MS_DEFAULT,
            parse_match(values["match"]),
        )


def resolve_client_metrics(texts: Mapping[str, str]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name, setting in CLIENT_METRICS_SETTINGS.items():
        values[name] = setting.default
        try:
            if name in texts:
                values[name] = parse(setting, texts[name])
        except ValueError:
            continue
    return values
