"""Settings of topics, brokers and groups: read, set, unset."""

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from tidelog.clients.admin.results import ConfigSource, ConfigValue
from tidelog.clients.admin.session import AdminSession
from tidelog.clients.admin.topics import setting_text

ALL_BROKERS = ""
SOURCES = {source.value: source for source in ConfigSource}


class ConfigAdmin(AdminSession):
    """Settings of topics and brokers."""

    def topic_config(self, name: str) -> dict[str, ConfigValue]:
        """Every setting of a topic, by name, with where its value comes from.

        Args:
            name: The topic.

        Raises:
            UnknownTopic: There is no such topic.
        """
        return self._describe(ResourceType.TOPIC, name)

    def broker_config(self, broker: int | None = None) -> dict[str, ConfigValue]:
        """Every setting of a broker, by name, with where its value comes from.

        Args:
            broker: Its id. None: what is set for all brokers.
        """
        return self._describe(ResourceType.BROKER, ALL_BROKERS if broker is None else str(broker))

    def alter_topic_config(
        self,
        name: str,
        values: Mapping[str, object] | None = None,
        *,
        unset: Iterable[str] = (),
        validate_only: bool = False,
    ) -> None:
        """Set and unset settings of a topic. The others stay as they are.

        Example:
            from tidelog import Admin, AdminConfig

            with Admin(AdminConfig(bootstrap_servers=["localhost:9092"])) as admin:
                admin.create_topic("logs", config={"retention.ms": 60_000}, if_not_exists=True)
                admin.alter_topic_config("logs", {"max.message.bytes": 2_000_000}, unset=["retention.ms"])
                print(admin.topic_config("logs")["max.message.bytes"].is_own)

        Args:
            name: The topic.
            values: New values, under Kafka's names. Numbers, flags and lists need not be text.
            unset: Settings that follow the broker's again.
            validate_only: Check, and change nothing.

        Raises:
            RequestRefused: The broker does not accept a name or a value.
        """
        self._alter(ResourceType.TOPIC, name, values or {}, unset, validate_only)

    def alter_broker_config(
        self,
        values: Mapping[str, object] | None = None,
        *,
        broker: int | None = None,
        unset: Iterable[str] = (),
        validate_only: bool = False,
    ) -> None:
        """Set and unset settings of one broker, or of all brokers, while they run.

        Args:
            values: New values, under Kafka's names.
            broker: The broker's id. None: all brokers.
            unset: Settings that go back to the file's value or the default.
            validate_only: Check, and change nothing.

        Raises:
            RequestRefused: The broker does not accept a name or a value, or the setting needs a restart.
        """
        name = ALL_BROKERS if broker is None else str(broker)
        self._alter(ResourceType.BROKER, name, values or {}, unset, validate_only)

    def _describe(self, kind: ResourceType, name: str) -> dict[str, ConfigValue]:
        [found] = self._all(
            "Describing the settings of", AdminClient.describe_configs, [ConfigResource(kind, name)]
        ).values()
        return {key: _value(found[key]) for key in sorted(found)}

    def _alter(
        self,
        kind: ResourceType,
        name: str,
        values: Mapping[str, object],
        unset: Iterable[str],
        validate_only: bool,
    ) -> None:
        changes = [_change(key, setting_text(value), AlterConfigOpType.SET) for key, value in values.items()]
        changes += [_change(key, "", AlterConfigOpType.DELETE) for key in unset]
        if changes:
            resource = ConfigResource(kind, name, incremental_configs=changes)
            self._all(
                "Changing the settings of",
                AdminClient.incremental_alter_configs,
                [resource],
                validate_only=validate_only,
            )


def _change(name: str, value: str, operation: AlterConfigOpType) -> ConfigEntry:
    return ConfigEntry(name, value, incremental_operation=operation)


def _value(entry: Any) -> ConfigValue:
    number = entry.source if isinstance(entry.source, int) else entry.source.value
    return ConfigValue(
        entry.name,
        None if entry.is_sensitive else entry.value,
        SOURCES.get(number, ConfigSource.UNKNOWN),
        bool(entry.is_read_only),
        bool(entry.is_sensitive),
    )
