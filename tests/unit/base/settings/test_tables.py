"""The tables themselves: whoever adds a setting learns here what it lacks."""

import pytest

from tidelog.base.broker_settings import BROKER_SETTINGS, BROKER_SYNONYMS, BROKER_THEMES
from tidelog.base.config.environment import env_name
from tidelog.base.config.setting import Dynamic, Kind, Setting, parse, render
from tidelog.base.topic_settings import TOPIC_SETTINGS

ALL = [*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values()]


@pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting.name)
def test_every_default_is_a_legal_value(setting: Setting) -> None:
    text = render(setting, setting.default)
    if text is None:
        assert setting.special.startswith("not set") or "; not set" in setting.special
    else:
        assert parse(setting, text) == setting.default


@pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting.name)
def test_names_end_in_their_unit(setting: Setting) -> None:
    if setting.name.endswith((".ms", ".bytes", ".hours", ".minutes")):
        assert setting.unit.value == setting.name.rpartition(".")[2]


def test_names_are_unique() -> None:
    assert len(BROKER_SETTINGS) == sum(map(len, BROKER_THEMES.values()))
    assert len({env_name(name) for name in BROKER_SETTINGS}) == len(BROKER_SETTINGS)


def test_enums_have_choices() -> None:
    assert all(setting.choices for setting in ALL if setting.kind is Kind.ENUM)


def test_synonyms_end_in_a_setting_that_always_has_a_value() -> None:
    for name, chain in BROKER_SYNONYMS.items():
        assert chain[0] == name
        assert BROKER_SETTINGS[chain[-1]].default is not None


def test_weaker_synonyms_cannot_change_at_run_time() -> None:
    """DescribeConfigs lists synonyms by layer; only so is the first one also the one that decides."""
    for chain in BROKER_SYNONYMS.values():
        assert all(BROKER_SETTINGS[name].dynamic is Dynamic.READ_ONLY for name in chain[1:])


@pytest.mark.parametrize(
    "setting",
    [setting for setting in TOPIC_SETTINGS.values() if setting.broker_synonyms],
    ids=lambda setting: setting.name,
)
def test_topic_settings_follow_a_broker_setting_that_can_change(setting: Setting) -> None:
    broker = BROKER_SETTINGS[setting.broker_synonyms[0]]
    assert broker.dynamic is Dynamic.CLUSTER_WIDE
    assert (broker.kind, broker.minimum, broker.maximum) == (setting.kind, setting.minimum, setting.maximum)
    assert setting.default is not None


def test_topic_defaults_are_those_of_kafka() -> None:
    """Apache Kafka 4.x, as `kafka-configs --describe --all` prints a fresh topic."""
    kafka = {
        "cleanup.policy": "delete",
        "compression.gzip.level": "-1",
        "compression.lz4.level": "9",
        "compression.type": "producer",
        "compression.zstd.level": "3",
        "delete.retention.ms": "86400000",
        "errors.deadletterqueue.group.enable": "false",  # since 4.4
        "file.delete.delay.ms": "60000",
        "flush.messages": "9223372036854775807",
        "flush.ms": "9223372036854775807",
        "follower.replication.throttled.replicas": "",
        "index.interval.bytes": "4096",
        "leader.replication.throttled.replicas": "",
        "max.compaction.lag.ms": "9223372036854775807",
        "max.message.bytes": "1048588",
        "message.timestamp.after.max.ms": "3600000",
        "message.timestamp.before.max.ms": "9223372036854775807",
        "message.timestamp.type": "CreateTime",
        "min.cleanable.dirty.ratio": "0.5",
        "min.compaction.lag.ms": "0",
        "min.insync.replicas": "1",
        "preallocate": "false",
        "retention.bytes": "-1",
        "retention.ms": "604800000",
        "segment.bytes": "1073741824",
        "segment.index.bytes": "10485760",
        "segment.jitter.ms": "0",
        "segment.ms": "604800000",
        "unclean.leader.election.enable": "false",
    }
    ours = {name for name, setting in TOPIC_SETTINGS.items() if setting.ours or name.startswith("confluent.")}
    assert {name: render(s, s.default) for name, s in TOPIC_SETTINGS.items() if name not in ours} == kafka
