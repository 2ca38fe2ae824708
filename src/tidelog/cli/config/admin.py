"""Reading and changing the settings that a broker holds: for a topic, one broker, or all brokers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.cli.connection import Cluster

# What DescribeConfigs calls the place a value comes from, in words.
SOURCES = {
    1: "topic",
    2: "broker",
    3: "cluster",
    4: "file",
    5: "default",
    6: "logger",
    7: "client metrics",
    8: "group",
}


@dataclass(frozen=True, slots=True)
class ShownSetting:
    name: str
    value: str | None
    source: str
    read_only: bool
    sensitive: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": self.value,
            "source": self.source,
            "read_only": self.read_only,
            "sensitive": self.sensitive,
        }


def resource(kind: str, name: str) -> Any:
    from confluent_kafka.admin import ConfigResource, ResourceType

    return ConfigResource(ResourceType.TOPIC if kind == "topic" else ResourceType.BROKER, name)


def describe_configs(cluster: Cluster, kind: str, name: str) -> list[ShownSetting] | Any:
    """Settings by name, or the broker's KafkaError."""
    from confluent_kafka import KafkaError

    [answer] = cluster.ask(cluster.admin.describe_configs, [resource(kind, name)]).values()
    if isinstance(answer, KafkaError):
        return answer
    return [
        ShownSetting(
            entry.name,
            None if entry.is_sensitive else entry.value,
            SOURCES.get(entry.source, "unknown"),
            entry.is_read_only,
            entry.is_sensitive,
        )
        for entry in sorted(answer.values(), key=lambda entry: entry.name)
    ]


def alter_configs(
    cluster: Cluster, kind: str, names: Sequence[str], values: Mapping[str, str], unset: Iterable[str]
) -> dict[str, Any]:
    """Set and unset in one request; {name: None or KafkaError}."""
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry

    changes = [(name, value, AlterConfigOpType.SET) for name, value in values.items()]
    changes += [(name, "", AlterConfigOpType.DELETE) for name in unset]
    resources = []
    for name in dict.fromkeys(names):
        target = resource(kind, name)
        for setting, value, operation in changes:
            target.add_incremental_config(ConfigEntry(setting, value, incremental_operation=operation))
        resources.append(target)
    answers = cluster.ask(cluster.admin.incremental_alter_configs, resources)
    return {target.name: answer for target, answer in answers.items()}
