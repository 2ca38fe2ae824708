"""A topology against the topics that exist: the tasks there are, what is missing, or what is wrong."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from tidelog.groups.consumer.topics import Topics
from tidelog.groups.record_formats.streams_group import Topology
from tidelog.groups.streams.messages import InternalTopic, Status, StatusCode
from tidelog.groups.streams.partition_counts import NotConfigurable, decide_counts, number_of_tasks
from tidelog.groups.streams.topology import required_topics
from tidelog.wire.messages.streams_group_heartbeat import Subtopology, TopicInfo

NAMES_SHOWN = 3
TASKS_MAX = 100_000
"""Of one group: every one of them is in a record, and in memory, several times."""


class ConfiguredPart(NamedTuple):
    part: Subtopology
    tasks: int
    repartition_sources: tuple[InternalTopic, ...]
    changelogs: tuple[InternalTopic, ...]

    @property
    def is_stateful(self) -> bool:
        return bool(self.changelogs)


class Configured(NamedTuple):
    metadata_hash: int
    """Of the topics that were looked at."""
    parts: Mapping[str, ConfiguredPart] | None = None
    """By id, sorted; None where the topics do not fit."""
    missing: tuple[InternalTopic, ...] = ()
    problem: Status | None = None

    @property
    def is_ready(self) -> bool:
        return self.problem is None


def configure(topology: Topology, topics: Topics) -> Configured:
    """KafkaError for a topology that no topics could fit."""
    required = required_topics(topology)
    metadata_hash = topics.hash_of(required)
    try:
        parts = _parts(topology, topics)
        _check_tasks(parts)
        missing = _missing(parts, topics)
    except NotConfigurable as refusal:
        return Configured(metadata_hash, problem=refusal.status)
    if not missing:
        return Configured(metadata_hash, parts)
    names = f"Internal topics are missing: {shortened([topic.name for topic in missing])}"
    return Configured(metadata_hash, parts, missing, Status(StatusCode.MISSING_INTERNAL_TOPICS, names))


def _parts(topology: Topology, topics: Topics) -> dict[str, ConfiguredPart]:
    def existing(topic: str) -> int | None:
        found = topics.by_name.get(topic)
        return None if found is None else found.partitions

    outside = {name for part in topology.subtopologies for name in part.source_topics}
    absent = sorted(name for name in outside if existing(name) is None)
    if absent:
        detail = f"Source topics {shortened(absent)} are missing."
        raise NotConfigurable(Status(StatusCode.MISSING_SOURCE_TOPICS, detail))
    counts = decide_counts(topology, existing)
    return {
        part.subtopology_id: ConfiguredPart(
            part,
            number_of_tasks(part, existing, counts),
            tuple(internal_topic(topic, counts) for topic in part.repartition_source_topics),
            tuple(internal_topic(topic, counts) for topic in part.state_changelog_topics),
        )
        for part in sorted(topology.subtopologies, key=lambda part: part.subtopology_id)
    }


def _check_tasks(parts: Mapping[str, ConfiguredPart]) -> None:
    tasks = sum(part.tasks for part in parts.values())
    if tasks > TASKS_MAX:
        detail = f"The topology has {tasks:,} tasks with its topics, and a group can have {TASKS_MAX:,}."
        raise NotConfigurable(Status(StatusCode.INCORRECTLY_PARTITIONED_TOPICS, detail))


def _missing(parts: Mapping[str, ConfiguredPart], topics: Topics) -> tuple[InternalTopic, ...]:
    missing = {}
    for one in parts.values():
        for topic in (*one.repartition_sources, *one.changelogs):
            found = topics.by_name.get(topic.name)
            if found is None:
                missing[topic.name] = topic
            elif found.partitions != topic.partitions:
                detail = (
                    f"Existing topic {topic.name} has different number of partitions: expected "
                    f"{topic.partitions}, found {found.partitions}"
                )
                raise NotConfigurable(Status(StatusCode.INCORRECTLY_PARTITIONED_TOPICS, detail))
    return tuple(topic for _, topic in sorted(missing.items()))


def internal_topic(topic: TopicInfo, counts: Mapping[str, int]) -> InternalTopic:
    return InternalTopic(
        topic.name,
        topic.partitions or counts.get(topic.name, 0),
        topic.replication_factor or -1,
        tuple((config.key, config.value) for config in topic.topic_configs),
    )


def shortened(names: Collection[str]) -> str:
    shown = sorted(names)[:NAMES_SHOWN]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} additional topics" if more else "")
