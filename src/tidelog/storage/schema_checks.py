"""Which records of a topic must name a schema of the registry: its settings, under Confluent's names.

A log does not know schemas. It says that they have to be checked, and takes no batch that was not.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

PACKAGE = "io.confluent.kafka.serializers.subject."
"""Of Confluent's classes, which the settings may name in full."""


class SubjectStrategy(StrEnum):
    """Which subject a schema has to be registered under."""

    TOPIC = "TopicNameStrategy"
    RECORD = "RecordNameStrategy"
    TOPIC_RECORD = "TopicRecordNameStrategy"


class SchemaChecks(NamedTuple):
    """None: that side of a record may be anything."""

    key: SubjectStrategy | None
    value: SubjectStrategy | None


class SchemasNotChecked(Exception):
    """A batch for a topic whose schemas are checked came by a path that does not check them."""


def schema_checks_of(settings: Mapping[str, Any]) -> SchemaChecks | None:
    checks = SchemaChecks(_strategy(settings, "key"), _strategy(settings, "value"))
    return None if checks == (None, None) else checks


def _strategy(settings: Mapping[str, Any], side: str) -> SubjectStrategy | None:
    if not settings.get(f"confluent.{side}.schema.validation"):
        return None
    name = settings.get(f"confluent.{side}.subject.name.strategy") or SubjectStrategy.TOPIC
    return SubjectStrategy(name.removeprefix(PACKAGE))
