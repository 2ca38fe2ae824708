import pytest

from tidelog.base.config.config import (
    BrokerConfig,
    ConfigError,
    ConfigSource,
    TopicConfig,
    load,
    parse_topic_overrides,
    resolve_topic,
)


def test_overrides_over_broker_over_defaults() -> None:
    broker = load(flags={"log.retention.hours": "1", "log.segment.bytes": "1 MiB"})
    topic = TopicConfig(parse_topic_overrides({"segment.bytes": "2048"}), broker)
    assert topic.int("segment.bytes") == 2048
    assert topic.int("retention.ms") == 3_600_000
    assert topic.list("cleanup.policy") == ("delete",)
    assert topic.source("segment.bytes") is ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert topic.source("retention.ms") is ConfigSource.STATIC_BROKER_CONFIG
    assert topic.source("cleanup.policy") is ConfigSource.DEFAULT_CONFIG
    assert topic.overrides == {"segment.bytes": 2048}


def test_durability_per_topic() -> None:
    topic = TopicConfig(parse_topic_overrides({"durability": "os"}), BrokerConfig())
    assert topic.text("durability") == "os"


def test_refusals_name_each_setting_and_the_right_name() -> None:
    with pytest.raises(ConfigError) as refused:
        parse_topic_overrides(
            {
                "retention.mss": "1",
                "log.retention.hours": "1",
                "segment.bytes": "1 GiB",
                "retention.ms": None,
                "cleanup.policy": "compact",
            }
        )
    reasons = {problem.name: problem.reason for problem in refused.value.problems}
    assert reasons["retention.mss"] == "no such setting; did you mean retention.ms?"
    assert reasons["log.retention.hours"] == "no such setting; use retention.ms"
    assert "not a whole number" in reasons["segment.bytes"]
    assert "null" in reasons["retention.ms"]
    assert "cleanup.policy" not in reasons


def test_overrides_must_fit_each_other_and_the_broker() -> None:
    with pytest.raises(ConfigError, match=r"above max.compaction.lag.ms"):
        parse_topic_overrides({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"})
    broker = load(flags={"log.cleaner.max.compaction.lag.ms": "5"})
    with pytest.raises(ConfigError, match=r"above max.compaction.lag.ms"):
        parse_topic_overrides({"min.compaction.lag.ms": "10"}, broker)


def test_stored_texts_that_this_version_cannot_read_are_left_out() -> None:
    topic = resolve_topic({"segment.bytes": "x", "gone": "1", "flush.messages": "7"}, BrokerConfig())
    assert topic.overrides == {"flush.messages": 7}
    assert topic.int("segment.bytes") == 1024**3
