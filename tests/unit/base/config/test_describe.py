from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.base.config.config import (
    BrokerConfig,
    ConfigEntry,
    ConfigSource,
    describe_broker,
    describe_cluster_defaults,
    describe_topic,
    load,
)
from tidelog.base.topic_settings import TOPIC_SETTINGS


def by_name(entries: list[ConfigEntry]) -> dict[str, ConfigEntry]:
    return {entry.name: entry for entry in entries}


def test_the_whole_chain_of_a_topic_setting() -> None:
    broker = load(flags={"log.retention.minutes": "30", "log.retention.hours": "2"}).with_dynamic(
        {"log.retention.ms": "300"}, {"log.retention.ms": "200"}
    )
    (entry,) = describe_topic({"retention.ms": "100"}, broker, ["retention.ms"])
    assert (entry.value, entry.source) == ("100", 1)
    assert entry.synonyms == (
        ("retention.ms", "100", 1),
        ("log.retention.ms", "200", 2),
        ("log.retention.ms", "300", 3),
        ("log.retention.minutes", "30", 4),
        ("log.retention.hours", "2", 4),
        ("log.retention.hours", "168", 5),
    )


def test_a_topic_without_overrides_shows_who_decides() -> None:
    broker = load(flags={"log.retention.minutes": "30"})
    (entry,) = describe_topic({}, broker, ["retention.ms"])
    assert (entry.value, entry.source) == ("1800000", ConfigSource.STATIC_BROKER_CONFIG)
    assert entry.synonyms[0] == ("log.retention.minutes", "30", 4)


def test_types_docs_and_defaults_of_a_fresh_topic() -> None:
    entries = by_name(describe_topic({}, BrokerConfig()))
    assert list(entries) == list(TOPIC_SETTINGS)
    assert {name: entries[name].type_code for name in ("preallocate", "durability", "segment.bytes")} == {
        "preallocate": 1,
        "durability": 2,
        "segment.bytes": 3,
    }
    assert entries["retention.ms"].type_code == 5
    assert entries["min.cleanable.dirty.ratio"].type_code == 6
    assert entries["cleanup.policy"].type_code == 7
    assert all(entry.source == 5 and not entry.read_only and entry.doc for entry in entries.values())
    assert entries["retention.ms"].value == "604800000"


def test_the_first_synonym_is_the_one_that_decides() -> None:
    broker = load(flags={"log.roll.hours": "5", "compression.type": "zstd"}).with_dynamic(
        {"log.segment.bytes": "4096"}, {"durability": "os"}
    )
    for entry in describe_topic({"flush.ms": "1"}, broker):
        assert not entry.synonyms or entry.source == entry.synonyms[0].source
    entries = by_name(describe_topic({"flush.ms": "1"}, broker))
    assert entries["segment.ms"].value == "18000000"
    assert entries["durability"].source == 2
    assert entries["segment.bytes"].source == 3
    assert entries["compression.type"].source == 4


def test_broker_entries() -> None:
    broker = load(flags={"log.retention.minutes": "30"}).with_dynamic({"max.connections": "5"}, {})
    entries = by_name(describe_broker(broker))
    assert list(entries) == list(BROKER_SETTINGS)
    assert entries["node.id"].read_only
    assert not entries["max.connections"].read_only
    assert (entries["max.connections"].value, entries["max.connections"].source) == ("5", 3)
    assert entries["max.connections"].synonyms == (
        ("max.connections", "5", 3),
        ("max.connections", "2147483647", 5),
    )
    assert entries["log.retention.ms"].value is None, "as in Kafka: set under another name"
    assert entries["log.retention.ms"].source == ConfigSource.STATIC_BROKER_CONFIG
    assert [synonym.name for synonym in entries["log.retention.hours"].synonyms] == ["log.retention.hours"]
    assert entries["cluster.id"].value is None
    assert entries["cluster.id"].synonyms == ()


def test_named_settings_only() -> None:
    assert [entry.name for entry in describe_broker(BrokerConfig(), {"node.id"})] == ["node.id"]
    assert describe_broker(BrokerConfig(), {"no.such"}) == []
    assert len(describe_broker(BrokerConfig(), [])) == len(BROKER_SETTINGS)


def test_cluster_defaults_show_only_what_was_set_for_the_cluster() -> None:
    broker = load(flags={"max.connections": "9"}).with_dynamic(
        {"max.connections": "5"}, {"max.connections": "6", "durability": "os"}
    )
    (entry,) = describe_cluster_defaults(broker)
    assert (entry.name, entry.value, entry.source) == ("max.connections", "5", 3)
    assert entry.synonyms == (("max.connections", "5", 3),)
