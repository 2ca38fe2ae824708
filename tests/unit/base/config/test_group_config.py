"""A group's own settings within the broker's limits."""

import pytest

from tidelog.base.config.config import BrokerConfig, ConfigError, ConfigSource, describe_group
from tidelog.base.config.group_config import GroupConfigs, find_group_problems

SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def test_a_group_follows_the_broker_until_it_has_a_value_of_its_own() -> None:
    broker = BrokerConfig({"group.consumer.session.timeout.ms": 50_000})
    configs = GroupConfigs(broker, {"mine": {SESSION: "55000"}})
    assert configs.of("mine").int(SESSION) == 55_000
    assert configs.of("other").int(SESSION) == 50_000
    assert configs.of("mine").int(HEARTBEAT) == 5_000


def test_a_stored_value_beyond_a_limit_counts_as_the_limit() -> None:
    broker = BrokerConfig({"group.streams.max.standby.replicas": 1})
    stored = {"g": {SESSION: "3000", HEARTBEAT: "99000", "streams.num.standby.replicas": "5", "what": "1"}}
    mine = GroupConfigs(broker, stored).of("g")
    assert (mine.int(SESSION), mine.int(HEARTBEAT)) == (45_000, 15_000)
    assert mine.int("streams.num.standby.replicas") == 1


def test_a_session_no_longer_than_a_heartbeat_is_not_obeyed() -> None:
    narrow = {
        "group.consumer.min.session.timeout.ms": 1_000,
        "group.consumer.max.heartbeat.interval.ms": 20_000,
    }
    broker = BrokerConfig(narrow)
    texts = {SESSION: "9000", HEARTBEAT: "9000"}
    assert [
        problem.name for problem in find_group_problems({SESSION: 9000, HEARTBEAT: 9000}, texts, broker)
    ] == [SESSION]
    mine = GroupConfigs(broker, {"g": texts}).of("g")
    assert (mine.int(SESSION), mine.int(HEARTBEAT)) == (45_000, 5_000)


def test_what_is_described_is_what_is_obeyed_and_where_it_comes_from() -> None:
    entries = {entry.name: entry for entry in describe_group({SESSION: "60000"}, BrokerConfig())}
    assert entries[SESSION].value == "60000"
    assert [(one.name, one.source) for one in entries[SESSION].synonyms] == [
        (SESSION, ConfigSource.DYNAMIC_GROUP_CONFIG),
        (f"group.{SESSION}", ConfigSource.DEFAULT_CONFIG),
    ]
    assert entries[HEARTBEAT].source is ConfigSource.DEFAULT_CONFIG
    assert entries["share.auto.offset.reset"].value == "latest"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"group.consumer.session.timeout.ms": 9_000}, "lower that one too"),
        ({"group.streams.num.standby.replicas": 3}, "raise that one too"),
        (
            {
                "group.consumer.min.session.timeout.ms": 1_000,
                "group.consumer.session.timeout.ms": 5_000,
            },
            "not above",
        ),
    ],
)
def test_the_brokers_own_values_keep_its_limits(given: dict[str, int], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        BrokerConfig(given)
