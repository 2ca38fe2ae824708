"""What one client is to push: all subscriptions that match it, joined (KIP-714)."""

import zlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tidelog.base.client_metrics_settings import ALL_METRICS, INTERVAL_MS_DEFAULT, ClientMetricsConfig
from tidelog.base.ids import Uuid, uuid_text

_BEYOND_ASCII = "\x7f"
FACT_CHARS_MAX = 512
"""A client chooses its id, and a long one must cost the broker neither time nor memory."""


class ClientFacts(NamedTuple):
    """What a subscription can be matched with."""

    instance_id: Uuid
    client_id: str = ""
    software_name: str = ""
    software_version: str = ""
    host: str = ""
    port: int = 0

    def by_key(self) -> dict[str, str]:
        return {
            "client_instance_id": uuid_text(self.instance_id),
            "client_id": self.client_id,
            "client_software_name": self.software_name,
            "client_software_version": self.software_version,
            "client_source_address": self.host,
            "client_source_port": str(self.port),
        }


class Subscription(NamedTuple):
    id: int
    metrics: tuple[str, ...]
    """Beginnings of names, in order; `*` alone for all; empty for none."""
    interval_ms: int

    def wants(self, metric: str) -> bool:
        return ALL_METRICS in self.metrics or metric.startswith(self.metrics)


def subscription_of(configs: Iterable[ClientMetricsConfig], client: ClientFacts) -> Subscription:
    facts = {key: _ascii(text[:FACT_CHARS_MAX]) for key, text in client.by_key().items()}
    metrics: set[str] = set()
    interval_ms = INTERVAL_MS_DEFAULT
    for config in configs:
        if _matches(config, facts):
            metrics.update(config.metrics)
            interval_ms = min(interval_ms, config.interval_ms)
    named = (ALL_METRICS,) if ALL_METRICS in metrics else tuple(sorted(metrics))
    return Subscription(_id_of(named, interval_ms, client.instance_id), named, interval_ms)


def _matches(config: ClientMetricsConfig, facts: Mapping[str, str]) -> bool:
    try:
        return all(pattern.select((facts[key],)) for key, pattern in config.match.items())
    except ValueError:  # the expression takes too long for this text
        return False


def _ascii(text: str) -> str:
    """Expressions know ASCII: for every other character a control character stands, which `.` matches."""
    return text if text.isascii() else "".join(one if one.isascii() else _BEYOND_ASCII for one in text)


def _id_of(metrics: tuple[str, ...], interval_ms: int, instance_id: Uuid) -> int:
    """Signed, as on the wire. Another list of metrics or interval gives another id."""
    checksum = zlib.crc32(repr((metrics, interval_ms)).encode() + instance_id)
    return checksum - (1 << 32) if checksum >> 31 else checksum
