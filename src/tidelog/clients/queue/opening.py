"""What a queue is given to find its brokers: text, a list, a configuration or a dict, and settings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from tidelog.clients.errors import ConfigurationError
from tidelog.clients.queue.config import QueueConfig

QueueAddress: TypeAlias = "str | Sequence[str] | QueueConfig | Mapping[str, Any]"


def config_of(given: QueueAddress, settings: Mapping[str, Any]) -> QueueConfig:
    try:
        if isinstance(given, QueueConfig):
            return replace(given, **settings) if settings else given
        if isinstance(given, Mapping):
            return QueueConfig.of({**given, **settings})
        return QueueConfig(bootstrap_servers=given, **settings)
    except TypeError as error:
        raise ConfigurationError(
            f"A queue has no such setting: {error}.",
            cause="a name is misspelt, or the brokers are neither text nor a list.",
            attempt='write Queue("jobs", "localhost:9092", prefetch=10); QueueConfig lists the settings.',
        ) from error
