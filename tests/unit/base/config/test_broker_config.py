import pytest

from tidelog.base.config.config import (
    BrokerConfig,
    ConfigError,
    ConfigSource,
    Problem,
    load,
    parse_broker_overrides,
)


def test_defaults_by_type() -> None:
    config = BrokerConfig()
    assert config.int("node.id") == 1
    assert config.bool("auto.create.topics.enable") is True
    assert config.text("durability") == "fsync"
    assert config.list("log.dirs") == ("tidelog-data",)
    assert config.float("log.cleaner.min.cleanable.ratio") == 0.5
    assert config.optional_text("cluster.id") is None
    assert config.list("advertised.listeners") == ()
    assert config.warnings == ()


def test_hours_decide_where_nothing_stronger_is_set() -> None:
    config = load(flags={"log.retention.hours": "2"})
    assert config.int("log.retention.ms") == 7_200_000
    assert config.source("log.retention.ms") is ConfigSource.STATIC_BROKER_CONFIG
    assert config.given("log.retention.ms") is None


def test_minutes_beat_hours_and_milliseconds_beat_both() -> None:
    flags = {"log.retention.hours": "2", "log.retention.minutes": "3"}
    assert load(flags=flags).int("log.retention.ms") == 180_000
    config = load(flags=flags | {"log.retention.ms": "4"})
    assert config.int("log.retention.ms") == 4
    assert len(config.warnings) == 2
    assert "log.retention.hours has no effect" in config.warnings[1]


def test_for_ever_in_hours_is_for_ever_in_milliseconds() -> None:
    assert load(flags={"log.retention.hours": "-1"}).int("log.retention.ms") == -1


def test_dynamic_layers_win_in_order() -> None:
    static = load(flags={"log.segment.bytes": "1 MiB"})
    assert static.source("log.segment.bytes") is ConfigSource.STATIC_BROKER_CONFIG
    cluster = static.with_dynamic({"log.segment.bytes": "4096"}, {})
    assert cluster.int("log.segment.bytes") == 4096
    assert cluster.source("log.segment.bytes") is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    both = static.with_dynamic({"log.segment.bytes": "4096"}, {"log.segment.bytes": "8192"})
    assert both.int("log.segment.bytes") == 8192
    assert both.source("log.segment.bytes") is ConfigSource.DYNAMIC_BROKER_CONFIG
    assert static.int("log.segment.bytes") == 1024**2, "the old one stays whole"
    assert both.with_dynamic({}, {}).int("log.segment.bytes") == 1024**2


def test_dynamic_milliseconds_beat_static_hours() -> None:
    config = load(flags={"log.roll.hours": "1"}).with_dynamic({"log.roll.ms": "5"}, {})
    assert config.int("log.roll.ms") == 5
    assert config.topic_defaults["segment.ms"] == 5


def test_origins_for_people() -> None:
    config = load(env={"TIDELOG_NODE_ID": "7"}, flags={"log.roll.hours": "1"})
    assert config.origin("node.id") == "environment TIDELOG_NODE_ID"
    assert config.origin("log.roll.ms") == "--set"
    assert config.origin("durability") == "default config"


def test_read_only_settings_do_not_change_at_run_time() -> None:
    with pytest.raises(ConfigError) as refused:
        BrokerConfig().with_dynamic({"node.id": "2"}, {"log.segment.bytes": "1 GiB"})
    assert "cannot change while the broker runs" in str(refused.value)


def test_every_reason_is_given_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        parse_broker_overrides(
            {"node.id": "2", "log.retention.mss": "1", "retention.ms": "1", "max.connections": None},
            per_broker=True,
        )
    reasons = {problem.name: problem.reason for problem in refused.value.problems}
    assert "did you mean log.retention.ms" in reasons["log.retention.mss"]
    assert reasons["retention.ms"] == "no such setting; use log.retention.ms"
    assert "null" in reasons["max.connections"]
    assert len(reasons) == 4


def test_what_another_version_stored_does_not_keep_a_broker_from_starting() -> None:
    skipped: list[Problem] = []
    config = BrokerConfig().with_dynamic(
        {"gone.setting": "1", "log.segment.bytes": "4096", "log.cleaner.threads": "200"},
        {"log.roll.ms": "x"},
        on_problem=skipped.append,
    )
    assert config.int("log.segment.bytes") == 4096
    assert config.int("log.cleaner.threads") == 1, "200 threads would not fit the dedupe buffer"
    assert sorted(problem.name for problem in skipped) == [
        "gone.setting",
        "log.cleaner.threads",
        "log.roll.ms",
    ]


def test_listeners() -> None:
    config = load(
        flags={
            "listeners": "INTERNAL://127.0.0.1:9093,EXTERNAL://0.0.0.0:9092",
            "advertised.listeners": "EXTERNAL://kafka.example.net:9092",
        }
    )
    assert [str(listener) for listener in config.listeners()] == [
        "INTERNAL://127.0.0.1:9093",
        "EXTERNAL://0.0.0.0:9092",
    ]
    assert [str(listener) for listener in config.advertised_listeners()] == [
        "INTERNAL://127.0.0.1:9093",
        "EXTERNAL://kafka.example.net:9092",
    ]


def test_it_is_a_mapping() -> None:
    config = BrokerConfig()
    assert dict(config)["num.partitions"] == 1
    assert len(config) == len(list(config))
    with pytest.raises(KeyError):
        config.int("no.such.setting")
