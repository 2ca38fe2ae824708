"""Each client reads and changes the settings of topics and of the broker, and a change takes effect."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.driver import Code, ConfigChange, Record, Refused
from tests.interop.waiting import eventually

WEEK_MS = "604800000"


@pytest.mark.needs("create_topic", "describe_configs")
def test_configs_given_at_creation_are_described(client: Any, topic_name: str) -> None:
    client.create_topic(topic_name, configs={"retention.ms": "3600000", "cleanup.policy": "compact"})
    eventually(lambda: topic_name in client.list_topics())
    configs = client.describe_configs("topic", topic_name)
    assert (configs["retention.ms"].value, configs["retention.ms"].is_default) == ("3600000", False)
    assert (configs["cleanup.policy"].value, configs["cleanup.policy"].is_default) == ("compact", False)
    assert (configs["segment.bytes"].value, configs["segment.bytes"].is_default) == ("1073741824", True)
    client.delete_topic(topic_name)


# The defaults that users lean on; a client shows them without being told where they come from.
DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "delete.retention.ms": "86400000",
    "flush.messages": "9223372036854775807",
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "retention.bytes": "-1",
    "retention.ms": WEEK_MS,
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.ms": WEEK_MS,
    "unclean.leader.election.enable": "false",
}


@pytest.mark.needs("describe_configs")
def test_the_defaults_of_a_topic(client: Any, topic: str) -> None:
    configs = client.describe_configs("topic", topic)
    assert {name: configs[name].value for name in DEFAULTS} == DEFAULTS
    assert not any(entry.sensitive for entry in configs.values())


@pytest.mark.needs("describe_configs", "alter_configs")
def test_synonyms_name_the_brokers_setting(client: Any, make_topic: Callable[..., str]) -> None:
    topic = make_topic(cleanup_policy="compact")
    synonyms = client.describe_configs("topic", topic)["cleanup.policy"].synonyms
    assert ("cleanup.policy", "compact") in synonyms
    if client.name != "confluent":  # its Python layer keeps one synonym per name and asks for no defaults
        assert ("log.cleanup.policy", "delete") in synonyms


@pytest.mark.needs("describe_configs")
def test_the_brokers_configs(client: Any) -> None:
    [broker] = client.describe_cluster().brokers
    configs = client.describe_configs("broker", str(broker))
    assert configs["log.segment.bytes"].value == "1073741824"
    assert configs["num.partitions"].value == "1"
    assert int(configs["message.max.bytes"].value) == 1048588


@pytest.mark.needs("alter_configs")
def test_setting_and_deleting_a_config(client: Any, reference: Any, topic: str) -> None:
    client.alter_configs("topic", topic, [ConfigChange("set", "retention.ms", "1000000")])
    eventually(lambda: value(reference, topic, "retention.ms") == "1000000")
    client.alter_configs("topic", topic, [ConfigChange("delete", "retention.ms")])
    eventually(lambda: value(reference, topic, "retention.ms") == WEEK_MS)


def test_settings_of_a_group(open_client: Callable[[str], Any], topic_name: str) -> None:
    client = open_client("confluent")
    group, session = f"group-{topic_name}", "consumer.session.timeout.ms"

    def shown() -> Any:
        return client.describe_configs("group", group)[session]

    assert (shown().value, shown().is_default) == ("45000", True)
    client.alter_configs("group", group, [ConfigChange("set", session, "50000")])
    eventually(lambda: (shown().value, shown().is_default) == ("50000", False))
    with pytest.raises(Refused) as refusal:
        client.alter_configs("group", group, [ConfigChange("set", session, "9000")])
    assert refusal.value.code == Code.INVALID_CONFIG
    client.alter_configs("group", group, [ConfigChange("delete", session)])
    eventually(lambda: shown().value == "45000")


@pytest.mark.needs("alter_configs")
def test_appending_to_and_subtracting_from_a_list(client: Any, reference: Any, topic: str) -> None:
    client.alter_configs("topic", topic, [ConfigChange("append", "cleanup.policy", "compact")])
    eventually(lambda: value(reference, topic, "cleanup.policy") == "delete,compact")
    client.alter_configs("topic", topic, [ConfigChange("subtract", "cleanup.policy", "delete")])
    eventually(lambda: value(reference, topic, "cleanup.policy") == "compact")


@pytest.mark.needs("alter_configs")
def test_one_change_leaves_the_others_alone(
    client: Any, reference: Any, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(retention_ms="1000000")
    client.alter_configs("topic", topic, [ConfigChange("set", "max.message.bytes", "2000000")])
    eventually(lambda: value(reference, topic, "max.message.bytes") == "2000000")
    assert value(reference, topic, "retention.ms") == "1000000"


@pytest.mark.parametrize(
    "change",
    [
        ConfigChange("set", "retention.ms", "soon"),
        ConfigChange("set", "no.such.setting", "1"),
        ConfigChange("set", "cleanup.policy", "burn"),
        ConfigChange("set", "min.cleanable.dirty.ratio", "2"),
        ConfigChange("append", "retention.ms", "1"),
    ],
    ids=str,
)
@pytest.mark.needs("alter_configs")
def test_changes_that_make_no_sense(client: Any, reference: Any, topic: str, change: ConfigChange) -> None:
    with pytest.raises(Refused) as refusal:
        client.alter_configs("topic", topic, [change])
    assert refusal.value.code == Code.INVALID_CONFIG
    assert value(reference, topic, "retention.ms") == WEEK_MS


@pytest.mark.needs("alter_configs")
def test_changing_an_unknown_topic(client: Any, topic_name: str) -> None:
    with pytest.raises(Refused) as refusal:
        client.alter_configs("topic", topic_name, [ConfigChange("set", "retention.ms", "1")])
    assert refusal.value.code == Code.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.needs("replace_configs")
def test_the_old_way_replaces_all_configs(
    client: Any, reference: Any, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(retention_ms="1000000", max_message_bytes="2000000")
    client.replace_configs("topic", topic, {"retention.ms": "7777777"})
    eventually(lambda: value(reference, topic, "retention.ms") == "7777777")
    assert value(reference, topic, "max.message.bytes") == "1048588", (
        "what was not named falls back to the default"
    )
    with pytest.raises(Refused) as refusal:
        client.replace_configs("topic", topic, {"retention.ms": "soon"})
    assert refusal.value.code == Code.INVALID_CONFIG


@pytest.mark.needs("describe_configs")
def test_the_configs_of_an_unknown_topic(client: Any, topic_name: str) -> None:
    if client.name == "kafka-python":
        assert client.describe_configs("topic", topic_name) == {}, "this client drops the error"
        return
    with pytest.raises(Refused) as refusal:
        client.describe_configs("topic", topic_name)
    assert refusal.value.code == Code.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.needs("alter_configs")
def test_a_changed_limit_takes_effect(client: Any, reference: Any, topic: str) -> None:
    client.alter_configs("topic", topic, [ConfigChange("set", "max.message.bytes", "5000")])
    eventually(lambda: value(reference, topic, "max.message.bytes") == "5000")
    eventually(lambda: refuses(reference, topic, Record(b"k", bytes(6_000))))
    reference.produce(topic, [Record(b"k", b"small")])


@pytest.mark.needs("alter_configs")
def test_a_setting_of_the_broker_changes_while_it_runs(client: Any, reference: Any) -> None:
    [broker] = reference.describe_cluster().brokers
    name = str(broker)
    client.alter_configs("broker", name, [ConfigChange("set", "log.cleaner.threads", "2")])
    try:
        eventually(lambda: reference.describe_configs("broker", name)["log.cleaner.threads"].value == "2")
    finally:
        client.alter_configs("broker", name, [ConfigChange("delete", "log.cleaner.threads")])
    eventually(lambda: reference.describe_configs("broker", name)["log.cleaner.threads"].value == "1")


@pytest.mark.needs("list_config_resources")
def test_listing_what_has_configs(client: Any, make_topic: Callable[..., str]) -> None:
    topic = make_topic(retention_ms="1000000")
    assert topic in client.list_config_resources()["topic"]


def value(client: Any, topic: str, name: str) -> str:
    return str(client.describe_configs("topic", topic)[name].value)


def refuses(client: Any, topic: str, record: Record) -> bool:
    try:
        client.produce(topic, [record])
    except Refused as refusal:
        return refusal.code == Code.MESSAGE_TOO_LARGE
    return False
