"""What a topology must be like, and which topics it needs."""

from collections.abc import Iterator

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.groups.record_formats.streams_group import Topology
from tidelog.metadata.topics.names import is_internal, why_illegal
from tidelog.wire.messages.streams_group_heartbeat import Subtopology, TopicInfo

SUBTOPOLOGIES_MAX = 10_000
TOPICS_MAX = 100_000
"""All that is named in one topology. It is stored as one record, and looked through with every change."""


def check_topology(topology: Topology) -> None:
    """KafkaError for one that no application could mean."""
    if topology.epoch < 0:
        why = f"The topology epoch is {topology.epoch}, and must not be negative."
        raise KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY_EPOCH, why)
    parts = topology.subtopologies
    if len(parts) > SUBTOPOLOGIES_MAX or sum(1 for _ in _named(topology)) > TOPICS_MAX:
        raise _invalid(f"It has more than {SUBTOPOLOGIES_MAX} subtopologies or {TOPICS_MAX} topics.")
    if len({part.subtopology_id for part in parts}) < len(parts):
        raise _invalid("Two subtopologies have the same id.")
    for part in parts:
        _check_part(part)
    names = required_topics(topology) | {sink for part in parts for sink in part.repartition_sink_topics}
    if internal := sorted(filter(is_internal, names)):
        listed = ", ".join(internal)
        raise _invalid(f"Use of Kafka internal topics {listed} in a Kafka Streams topology is prohibited.")
    if illegal := sorted(filter(why_illegal, names)):
        raise _invalid(f"Topic names {', '.join(illegal)} are not valid topic names.")


def _check_part(part: Subtopology) -> None:
    if not part.source_topics and not part.repartition_source_topics:
        raise _invalid(f"No source topics found for subtopology {part.subtopology_id}.")
    for topic in part.state_changelog_topics:
        if topic.partitions:
            raise _invalid(
                f"Changelog topic {topic.name} must have an undefined partition count, "
                f"but it is set to {topic.partitions}."
            )
    for topic in part.repartition_source_topics:
        if topic.partitions < 0:
            raise _invalid(f"Repartition topic {topic.name} has {topic.partitions} partitions.")
    for group in part.copartition_groups:
        for indexes, among in (
            (group.source_topics, part.source_topics),
            (group.repartition_source_topics, part.repartition_source_topics),
        ):
            if any(not 0 <= index < len(among) for index in indexes):
                raise _invalid(
                    f"A copartition group of {part.subtopology_id} names a topic that is not there."
                )


def inputs(part: Subtopology) -> Iterator[str]:
    """The topics that a subtopology reads, of others and of its own application."""
    yield from part.source_topics
    for topic in part.repartition_source_topics:
        yield topic.name


def required_topics(topology: Topology) -> set[str]:
    """All that must be there before a task can run."""
    return {
        name
        for part in topology.subtopologies
        for name in (*inputs(part), *(topic.name for topic in part.state_changelog_topics))
    }


def readers(topology: Topology) -> dict[str, str]:
    """By topic, the subtopology that reads it; the first, where there are many."""
    found: dict[str, str] = {}
    for part in topology.subtopologies:
        for topic in inputs(part):
            found.setdefault(topic, part.subtopology_id)
    return found


def is_fixed(topic: TopicInfo) -> bool:
    """The application says how many partitions this one has."""
    return topic.partitions != 0


def _named(topology: Topology) -> Iterator[object]:
    for part in topology.subtopologies:
        yield from part.source_topics
        yield from part.repartition_sink_topics
        yield from part.repartition_source_topics
        yield from part.state_changelog_topics
        for group in part.copartition_groups:
            yield group
            yield from group.source_topics
            yield from group.repartition_source_topics


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, why)
