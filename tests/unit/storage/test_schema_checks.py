"""A topic's settings say which schemas its records have to have."""

import pytest

from tidelog.base.topic_settings import TOPIC_SETTINGS
from tidelog.storage.log_config import LogConfig
from tidelog.storage.schema_checks import SchemaChecks, SubjectStrategy, schema_checks_of


@pytest.mark.parametrize(
    ("settings", "checks"),
    [
        ({}, None),
        ({"confluent.value.subject.name.strategy": "RecordNameStrategy"}, None),
        ({"confluent.value.schema.validation": True}, SchemaChecks(None, SubjectStrategy.TOPIC)),
        (
            {
                "confluent.key.schema.validation": True,
                "confluent.key.subject.name.strategy": (
                    "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy"
                ),
            },
            SchemaChecks(SubjectStrategy.TOPIC_RECORD, None),
        ),
    ],
)
def test_settings(settings, checks):
    assert schema_checks_of(settings) == checks
    config = LogConfig.from_topic(settings)
    assert config.schema_checks == checks
    assert config.looks_inside is (checks is not None)


@pytest.mark.parametrize("side", ["key", "value"])
def test_every_choice_of_the_setting_is_a_strategy(side):
    on = {f"confluent.{side}.schema.validation": True}
    name = f"confluent.{side}.subject.name.strategy"
    for choice in TOPIC_SETTINGS[name].choices:
        assert schema_checks_of({**on, name: choice}) is not None
